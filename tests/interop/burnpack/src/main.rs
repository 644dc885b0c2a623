//! `burnpack-interop IN OUT`: reads a file as Burn does, prints what it found, and writes it again as Burn does.

use burn_pack::{Reader, Writer};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let tensors = match Reader::from_file(&arguments[1]).and_then(Reader::into_tensors) {
        Ok(tensors) => tensors,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    };
    for tensor in &tensors {
        let shape: Vec<usize> = tensor.shape.iter().copied().collect();
        println!("{}|{:?}|{:?}|{:?}|{}", tensor.name, tensor.dtype, shape, tensor.param_id, tensor.byte_len());
    }
    Writer::new(tensors).write_to_file(&arguments[2]).unwrap();
}
