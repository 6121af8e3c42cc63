//! The web page, embedded in the binary. This module knows files and caching, not runs or callers. The page needs no login:
//! everything it shows comes through the API.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};

static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

const HELP: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pleach</title>\
    <h1>This binary was built without its web page</h1>\
    <p>Build the page with <code>npm ci &amp;&amp; npm run build</code> in <code>ui/</code>, then build the binary again. \
    The API and the command line work without it.</p></html>";
/// The built files' names carry a hash of their content.
pub(crate) const IMMUTABLE: &str = "public, max-age=31536000, immutable";
/// The build puts a compressed copy beside a file that is worth it.
const GZ: &str = ".gz";

/// Answers a path that is no route of the API; `None` when the page has nothing there either.
pub(crate) fn answer(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response<Body>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let path = uri.path().trim_start_matches('/');
    match find(path) {
        Some(bytes) if path != "index.html" && !path.ends_with(GZ) => Some(file(path, bytes, headers)),
        _ if is_page_path(path, headers) => Some(page()),
        _ => None,
    }
}

/// The page's inline import map. Browsers accept it only if its hash is in the content security policy.
pub(crate) fn import_map() -> Option<&'static str> {
    let page = std::str::from_utf8(find("index.html")?).ok()?;
    page.split_once("<script type=\"importmap\">")?.1.split_once("</script>").map(|(map, _)| map)
}

fn find(path: &str) -> Option<&'static [u8]> {
    let at = FILES.binary_search_by_key(&path, |(name, _)| name).ok()?;
    FILES.get(at).map(|(_, bytes)| *bytes)
}

/// Whether a path belongs to the page, which routes by the path itself. Missing files, and programs that do not accept HTML,
/// get a 404.
fn is_page_path(path: &str, headers: &HeaderMap) -> bool {
    path.is_empty() || (!path.starts_with("api/") && !path.contains('.') && accepts(headers, "text/html"))
}

/// Whether the `Accept` header names this kind of media.
pub(crate) fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    headers.get_all(header::ACCEPT).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(kind)))
}

/// The page, whatever the path.
pub(crate) fn page() -> Response<Body> {
    let mut response = Response::new(Body::from(find("index.html").unwrap_or(HELP.as_bytes())));
    put(&mut response, header::CONTENT_TYPE, "text/html; charset=utf-8");
    response
}

/// The name serves as ETag, since it contains a hash of the content.
fn file(name: &str, bytes: &'static [u8], headers: &HeaderMap) -> Response<Body> {
    let compressed = find(&format!("{name}{GZ}"));
    let (body, is_compressed) = match compressed.filter(|_| accepts_gzip(headers)) {
        Some(compressed) => (compressed, true),
        None => (bytes, false),
    };
    let tag = format!("\"{name}{}\"", if is_compressed { GZ } else { "" });
    let mut response = unless_cached(headers, &tag, body);
    put(&mut response, header::CONTENT_TYPE, content_type(name));
    if name.starts_with("assets/") {
        put(&mut response, header::CACHE_CONTROL, IMMUTABLE);
    }
    if compressed.is_some() {
        put(&mut response, header::VARY, "accept-encoding");
    }
    if is_compressed {
        put(&mut response, header::CONTENT_ENCODING, "gzip");
    }
    response
}

/// Whether gzip is accepted; `q=0` refuses it.
fn accepts_gzip(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = named.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = quality.trim().strip_prefix("q=").is_some_and(|q| q.trim().parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

/// 304 when the client has this tag already.
fn unless_cached(headers: &HeaderMap, tag: &str, bytes: &'static [u8]) -> Response<Body> {
    let cached = headers.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let mut response = Response::new(if cached { Body::empty() } else { Body::from(bytes) });
    if cached {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    if let Ok(tag) = HeaderValue::from_str(tag) {
        response.headers_mut().insert(header::ETAG, tag);
    }
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
    fn paths_of_the_page_get_the_page_and_everything_else_a_404() {
        assert_eq!(status("/", "*/*"), Some(200));
        assert_eq!(status("/runs/01a1", "text/html,*/*"), Some(200));
        assert_eq!(status("/runs/01a1", "application/json"), None);
        assert_eq!(status("/api/nothing", "text/html"), None);
        assert_eq!(status("/assets/gone-1234.js", "text/html"), None);
        assert_eq!(status("/assets/gone-1234.js.gz", "*/*"), None);
        assert_eq!(answer(&Method::POST, &"/".parse().unwrap(), &HeaderMap::new()).map(|_| ()), None);
    }

    #[test]
    fn a_compressed_file_goes_only_to_clients_that_accept_it() {
        let accepts = |value: &'static str| {
            accepts_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(accepts("gzip") && accepts("br, gzip;q=0.5") && accepts("GZIP"));
        assert!(!accepts("br") && !accepts("gzip;q=0") && !accepts("identity") && !accepts_gzip(&HeaderMap::new()));
    }
}
