//! The web page, embedded in the binary. It knows files and caching; it must not know runs or callers. The page itself is no
//! secret: everything it shows comes through the API.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, Uri, header};

static FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

const HELP: &str = "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>Pleach</title>\
    <h1>This binary was built without its web page</h1>\
    <p>Build the page with <code>npm ci &amp;&amp; npm run build</code> in <code>ui/</code>, then build the binary again. \
    The API and the command line work without it.</p></html>";
/// The built files' names carry a hash of their content.
pub const FOREVER: &str = "public, max-age=31536000, immutable";
/// A file that is worth packing lies beside its packed self.
const PACKED: &str = ".gz";

/// The answer for an address that no route of the API has; `None` when the page has nothing there either.
pub fn answer(method: &Method, uri: &Uri, headers: &HeaderMap) -> Option<Response<Body>> {
    if !matches!(*method, Method::GET | Method::HEAD) {
        return None;
    }
    let path = uri.path().trim_start_matches('/');
    match find(path) {
        Some(bytes) if path != "index.html" && !path.ends_with(PACKED) => Some(file(path, bytes, headers)),
        _ if is_place(path, headers) => Some(page()),
        _ => None,
    }
}

/// What the page says inline of the files it loads later. The browser takes it only if the header names it.
pub fn import_map() -> Option<&'static str> {
    let page = std::str::from_utf8(find("index.html")?).ok()?;
    page.split_once("<script type=\"importmap\">")?.1.split_once("</script>").map(|(map, _)| map)
}

fn find(path: &str) -> Option<&'static [u8]> {
    let at = FILES.binary_search_by_key(&path, |(name, _)| name).ok()?;
    FILES.get(at).map(|(_, bytes)| *bytes)
}

/// Places inside the page all get the page; it finds its way by the address. Files that are not there, and programs that
/// did not ask for a page, get an honest 404.
fn is_place(path: &str, headers: &HeaderMap) -> bool {
    let wants = |kind: &str| {
        headers.get_all(header::ACCEPT).iter().any(|value| value.to_str().is_ok_and(|value| value.contains(kind)))
    };
    path.is_empty() || (!path.starts_with("api/") && !path.contains('.') && wants("text/html"))
}

/// The page itself, at whatever address.
pub fn page() -> Response<Body> {
    let mut response = Response::new(Body::from(find("index.html").unwrap_or(HELP.as_bytes())));
    put(&mut response, header::CONTENT_TYPE, "text/html; charset=utf-8");
    response
}

/// Its name is its tag: it carries a hash of what is in it.
fn file(name: &str, bytes: &'static [u8], headers: &HeaderMap) -> Response<Body> {
    let packed = find(&format!("{name}{PACKED}"));
    let (body, unpack) = match packed.filter(|_| takes_gzip(headers)) {
        Some(packed) => (packed, true),
        None => (bytes, false),
    };
    let tag = format!("\"{name}{}\"", if unpack { PACKED } else { "" });
    let mut response = unless_known(headers, &tag, body);
    put(&mut response, header::CONTENT_TYPE, content_type(name));
    if name.starts_with("assets/") {
        put(&mut response, header::CACHE_CONTROL, FOREVER);
    }
    if packed.is_some() {
        put(&mut response, header::VARY, "accept-encoding");
    }
    if unpack {
        put(&mut response, header::CONTENT_ENCODING, "gzip");
    }
    response
}

/// Named, and not refused by a quality of nought.
fn takes_gzip(headers: &HeaderMap) -> bool {
    let named = headers.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let mut codings = named.flat_map(|value| value.split(','));
    codings.any(|coding| {
        let (name, quality) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = quality.trim().strip_prefix("q=").is_some_and(|q| q.trim().parse() == Ok(0.0));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

/// Nothing when they say that they have it.
fn unless_known(headers: &HeaderMap, tag: &str, bytes: &'static [u8]) -> Response<Body> {
    let known = headers.get(header::IF_NONE_MATCH).is_some_and(|value| value.as_bytes() == tag.as_bytes());
    let mut response = match known {
        true => Response::new(Body::empty()),
        false => Response::new(Body::from(bytes)),
    };
    if known {
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
    fn places_of_the_page_get_the_page_and_everything_else_its_honest_absence() {
        assert_eq!(status("/", "*/*"), Some(200));
        assert_eq!(status("/runs/01a1", "text/html,*/*"), Some(200));
        assert_eq!(status("/runs/01a1", "application/json"), None);
        assert_eq!(status("/api/nothing", "text/html"), None);
        assert_eq!(status("/assets/gone-1234.js", "text/html"), None);
        assert_eq!(status("/assets/gone-1234.js.gz", "*/*"), None);
        assert_eq!(answer(&Method::POST, &"/".parse().unwrap(), &HeaderMap::new()).map(|_| ()), None);
    }

    #[test]
    fn a_packed_file_goes_only_to_those_who_can_unpack_it() {
        let takes = |value: &'static str| {
            takes_gzip(&HeaderMap::from_iter([(header::ACCEPT_ENCODING, HeaderValue::from_static(value))]))
        };
        assert!(takes("gzip") && takes("br, gzip;q=0.5") && takes("GZIP"));
        assert!(!takes("br") && !takes("gzip;q=0") && !takes("identity") && !takes_gzip(&HeaderMap::new()));
    }
}
