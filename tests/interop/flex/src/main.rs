//! `flex-interop IN FOLDER`: loads each quantized matrix of a file into Burn's flex backend, decodes it there, and
//! writes the floats to FOLDER/INDEX.f32; says which ones make it panic.

use burn::tensor::{DType, Device, Tensor, TensorData};
use burn_pack::Reader;
use std::panic::{AssertUnwindSafe, catch_unwind};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let device = Device::flex();
    let tensors = Reader::from_file(&arguments[1]).unwrap().into_tensors().unwrap();
    for (index, tensor) in tensors.into_iter().enumerate() {
        let (name, dtype, shape, _, bytes) = tensor.into_parts().unwrap();
        let DType::QFloat(_) = dtype else { continue };
        let values = catch_unwind(AssertUnwindSafe(|| {
            let data = TensorData::from_bytes(bytes, shape, dtype);
            let tensor = Tensor::<2>::from_data(data, (&device, dtype)).dequantize();
            tensor.into_data().to_vec::<f32>().unwrap()
        }));
        match values {
            Ok(values) => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                std::fs::write(format!("{}/{index}.f32", arguments[2]), bytes).unwrap();
                println!("{name}|{index}");
            }
            Err(_) => println!("{name}|panics"),
        }
    }
}
