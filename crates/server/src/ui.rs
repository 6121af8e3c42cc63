//! The web page, served from inside the binary. Knows files and how long they may be kept; nothing of runs, and nothing of
//! who asks: the page itself is no secret, everything it shows comes through the API. What a browser may do with it is said
//! where requests come in.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};
use engine::blob::Hash;
use std::sync::OnceLock;

static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

const HELP: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pleach</title>\
    <h1>This binary was built without its web page</h1>\
    <p>Build the page with <code>npm install &amp;&amp; npm run build</code> in <code>ui/</code>, then build the binary again. \
    The API and the command line work without it.</p></html>";
/// The built files' names carry a hash of their content.
const FOREVER: &str = "public, max-age=31536000, immutable";

/// The answer for an address that no route of the API has; `None` when the page has nothing there either.
pub fn answer(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response<Body>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let path = uri.path().trim_start_matches('/');
    let found = FILES.binary_search_by_key(&path, |(name, _)| name).ok().and_then(|at| FILES.get(at));
    match found {
        Some((name, bytes)) if *name != "index.html" => Some(file(name, bytes)),
        _ if is_place(path, headers) => Some(page(headers)),
        _ => None,
    }
}

/// Places inside the page all get the page; it finds its way by the address. Files that are not there, and programs that
/// did not ask for a page, get an honest 404.
fn is_place(path: &str, headers: &HeaderMap) -> bool {
    let wants = |kind: &str| {
        headers.get_all(header::ACCEPT).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(kind)))
    };
    path.is_empty() || (!path.starts_with("api/") && !path.contains('.') && wants("text/html"))
}

fn page(headers: &HeaderMap) -> Response<Body> {
    let bytes = FILES.iter().find(|(name, _)| *name == "index.html").map_or(HELP.as_bytes(), |(_, bytes)| bytes);
    static TAG: OnceLock<String> = OnceLock::new();
    let tag = TAG.get_or_init(|| format!("\"{}\"", Hash::of(&[bytes])));
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let mut response = match known {
        true => Response::new(Body::empty()),
        false => Response::new(Body::from(bytes)),
    };
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    put(&mut response, header::CONTENT_TYPE, "text/html; charset=utf-8");
    put(&mut response, header::CACHE_CONTROL, "no-cache");
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}

fn file(name: &str, bytes: &'static [u8]) -> Response<Body> {
    let mut response = Response::new(Body::from(bytes));
    put(&mut response, header::CONTENT_TYPE, content_type(name));
    put(&mut response, header::CACHE_CONTROL, if name.starts_with("assets/") { FOREVER } else { "no-cache" });
    response
}

fn put(response: &mut Response<Body>, name: header::HeaderName, value: &'static str) {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("woff2") => "font/woff2",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(path: &str, accept: &str) -> Option<u16> {
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_str(accept).unwrap())]);
        answer(&Method::GET, &path.parse().unwrap(), &headers).map(|response| response.status().as_u16())
    }

    #[test]
    fn places_of_the_page_get_the_page_and_everything_else_its_honest_absence() {
        assert_eq!(status("/", "*/*"), Some(200));
        assert_eq!(status("/runs/01a1", "text/html,*/*"), Some(200));
        assert_eq!(status("/runs/01a1", "application/json"), None);
        assert_eq!(status("/api/nothing", "text/html"), None);
        assert_eq!(status("/assets/gone-1234.js", "text/html"), None);
        assert_eq!(answer(&Method::POST, &"/".parse().unwrap(), &HeaderMap::new()).map(|_| ()), None);
    }
}
