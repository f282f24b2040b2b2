//! The metrics endpoint.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::get;
use tokio::net::TcpListener;

use super::exposition::Sources;

/// Serves `/metrics` for as long as the process lives.
pub(super) async fn serve(listener: TcpListener, sources: Arc<Sources>) {
    let router = Router::new()
        .route("/metrics", get(metrics))
        .with_state(sources);
    if let Err(error) = axum::serve(listener, router).await {
        tracing::error!(%error, "the metrics endpoint ended");
    }
}

async fn metrics(State(sources): State<Arc<Sources>>) -> impl IntoResponse {
    (
        [(
            CONTENT_TYPE,
            "application/openmetrics-text; version=1.0.0; charset=utf-8",
        )],
        sources.text(),
    )
}
