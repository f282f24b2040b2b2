//! The servers: health, reflection, metrics, status page, addresses.

use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::support::*;
use crate::ServeError;

async fn http_get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).await.unwrap();
    text
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_and_status_page_show_the_shards() {
    let dir = tempfile::tempdir().unwrap();
    let node = Arc::new(open(options(dir.path(), 2)).await);
    let frontier = node.frontier();
    create_crawl(&frontier, 1, 1).await;
    let shard = owner(&frontier, "http://a.example/").await;
    discover(&frontier, shard, vec![link("http://a.example/")]).await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Arc::clone(&node);
    tokio::spawn(async move { server.serve_http(listener, false).await });
    let metrics = http_get(address, "/metrics").await;
    assert!(
        metrics.contains(&format!(
            "escapement_shard{{shard=\"{shard}\",what=\"accepted\"}} 1"
        )),
        "{metrics}"
    );
    assert!(metrics.contains("escapement_discover_items_total{answer=\"new\"} 1"));
    assert!(metrics.contains("what=\"fsyncs\""));
    assert!(!metrics.contains("a.example"), "hosts are never labels");
    assert!(
        metrics.contains("escapement_node{what=\"disk_full\"} 0"),
        "{metrics}"
    );
    let page = http_get(address, "/").await;
    assert!(
        page.contains("<td>leader</td>") && page.matches("<tr><td>").count() == 2,
        "{page}"
    );
    assert!(page.contains("Disk: works"), "{page}");
    assert!(
        http_get(address, "/nothing")
            .await
            .starts_with("HTTP/1.1 404")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_a_figure_and_stands_on_the_page() {
    let dir = tempfile::tempdir().unwrap();
    let mut options = options(dir.path(), 1);
    options.engine.min_free_bytes = u64::MAX;
    let node = Arc::new(crate::FrontierNode::open(options).await.unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = Arc::clone(&node);
    tokio::spawn(async move { server.serve_http(listener, false).await });
    let full = "escapement_node{what=\"disk_full\"} 1";
    // The space is measured by a thread of its own.
    for _ in 0..500 {
        if http_get(address, "/metrics").await.contains(full) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let metrics = http_get(address, "/metrics").await;
    assert!(metrics.contains(full), "{metrics}");
    let page = http_get(address, "/").await;
    assert!(page.contains("Disk: full"), "{page}");
    node.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_says_that_the_service_is_there() {
    let dir = tempfile::tempdir().unwrap();
    let node = Arc::new(open(options(dir.path(), 1)).await);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let uri = format!("http://{}", listener.local_addr().unwrap());
    let server = Arc::clone(&node);
    tokio::spawn(async move { server.serve_grpc(listener, false).await });
    let channel = tonic::transport::Endpoint::from_shared(uri)
        .unwrap()
        .connect()
        .await
        .unwrap();
    let mut health = tonic_health::pb::health_client::HealthClient::new(channel.clone());
    let service = "frontier.v1.Frontier".to_owned();
    let answer = health
        .check(tonic_health::pb::HealthCheckRequest { service })
        .await
        .unwrap()
        .into_inner();
    assert_eq!(
        answer.status(),
        tonic_health::pb::health_check_response::ServingStatus::Serving
    );
    use tonic_reflection::pb::v1;
    let mut reflection = v1::server_reflection_client::ServerReflectionClient::new(channel);
    let ask = v1::ServerReflectionRequest {
        host: String::new(),
        message_request: Some(v1::server_reflection_request::MessageRequest::ListServices(
            String::new(),
        )),
    };
    let mut answers = reflection
        .server_reflection_info(tokio_stream::once(ask))
        .await
        .unwrap()
        .into_inner();
    let answer = answers.message().await.unwrap().unwrap();
    assert!(
        format!("{answer:?}").contains("frontier.v1.Frontier"),
        "{answer:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_beyond_loopback_needs_leave() {
    let address = "192.0.2.1:7".parse().unwrap();
    assert!(matches!(
        crate::grpc::check_address(address, false),
        Err(ServeError::NotLoopback(_))
    ));
    assert!(crate::grpc::check_address(address, true).is_ok());
    assert!(crate::grpc::check_address("[::1]:7".parse().unwrap(), false).is_ok());
    let words = crate::grpc::check_address(address, false)
        .unwrap_err()
        .to_string();
    assert!(words.contains("192.0.2.1") && words.contains("--allow-non-loopback must be given"));
}
