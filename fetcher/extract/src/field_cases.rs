//! The cases from the field that concern links, directives and encodings, each by its name.

mod bodies;
mod directives;
mod encodings;
mod links;

use crate::ResponseInfo;
use crate::testing::url;

const PAGE: &str = "http://a.example/d/i.html";

fn response(content_type: Option<&str>) -> ResponseInfo {
    ResponseInfo {
        content_type: content_type.map(str::to_owned),
        ..ResponseInfo::html(url(PAGE))
    }
}
