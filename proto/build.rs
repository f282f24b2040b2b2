//! Compiles the `.proto` files without a `protoc` binary.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = protox::compile(
        [
            "admin/v1/admin.proto",
            "frontier/v1/frontier.proto",
            "raft/v1/nodes.proto",
            "store/v1/store.proto",
            "raft/v1/raft.proto",
        ],
        ["proto"],
    )?;
    let out = std::path::PathBuf::from(std::env::var("OUT_DIR")?);
    std::fs::write(out.join("frontier_descriptor.bin"), prost_encode(&files))?;
    tonic_prost_build::configure()
        .bytes(".")
        .btree_map(".")
        .compile_fds(files)?;
    Ok(())
}

/// The descriptor set as bytes, for gRPC reflection.
fn prost_encode(files: &impl prost::Message) -> Vec<u8> {
    files.encode_to_vec()
}
