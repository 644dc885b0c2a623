"""What a user installs: the wheel holds the packages, the kernels, the samples and the licences, and it works."""

import os
import subprocess
import sys
import zipfile

import pytest
import source

pytestmark = pytest.mark.reliability


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # from the files that git knows: what only lies about here must not be needed
    listed = subprocess.run(["git", "ls-files", "-z"], capture_output=True, cwd=source.ROOT, check=True)
    copy = folder / "source"
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (source.ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((source.ROOT / name).read_bytes())
    # an archive of the sources first, the wheel from that archive: nothing is missing from either
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder / "dist", copy]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout[-4000:] + built.stderr[-4000:]
    (path,) = (folder / "dist").glob("*.whl")
    return path


def test_the_wheel_holds_what_it_should_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    # the folder gui/ is installed under its import name: a package called gui would be anybody's
    assert {top for top in tops if not top.endswith(".dist-info")} == {"qcore", "qcore_ext", "qcore_inspector"}
    wanted = ["qcore/py.typed", "qcore/sample/minilm_l0_query_384x384.npy", "qcore_ext/py.typed"]
    wanted += [f"qcore/backends/opencl/kernels/{path.name}" for path in source.files("qcore", ".cl")]
    assert set(wanted) <= set(names)
    licences = {
        name.rsplit("/", 1)[1] for name in names if ".dist-info/licenses/" in name and name[-1] != "/"
    }
    assert licences == {"LICENSE", "LICENSE-MIT", "LICENSE-APACHE", "Apache-2.0.txt", "silero-vad-MIT.txt"}
    assert any(name.startswith("qcore_ext/_") and name.endswith((".so", ".pyd")) for name in names)


def test_the_installed_wheel_runs_its_demo_away_from_the_sources(wheel, tmp_path):
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", target, wheel]
    subprocess.run(pip, check=True)
    code = (
        "import sys, qcore; from qcore.cli.app import main; print(qcore.__file__); sys.exit(main(['demo']))"
    )
    # -P and PYTHONPATH: the installed package, not the checkout that the environment points to
    result = subprocess.run(
        [sys.executable, "-P", "-c", code],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(target)},
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert str(target) in result.stdout
    assert "minilm_l0_query" in result.stdout
