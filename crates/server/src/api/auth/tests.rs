//! Reading credentials out of headers that anybody may send.

use super::*;
use axum::http::HeaderValue;
use proptest::prelude::*;
use simulation::fuzz::assert_doubles;

fn headers(name: header::HeaderName, values: &[Vec<u8>]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in values.iter().filter_map(|value| HeaderValue::from_bytes(value).ok()) {
        headers.append(name.clone(), value);
    }
    headers
}

proptest! {
    #[test]
    fn x16_whatever_stands_in_the_headers_is_read_without_harm(values: Vec<Vec<u8>>, name in "[a-z_]{0,12}") {
        let cookies = headers(header::COOKIE, &values);
        if let Some(value) = session(&cookies, &name) {
            prop_assert!(!value.contains(';'));
        }
        let tokens = headers(header::AUTHORIZATION, &values);
        if let Ok(Some(token)) = bearer(&tokens) {
            prop_assert!(Secret::parse(token).is_none_or(|secret| secret.reveal() == token));
        }
    }

    #[test]
    fn u2_the_cookie_of_this_server_is_found_among_those_of_others(before in "[a-z]{1,5}=[a-z]{0,5}", value in "[a-z0-9]{1,20}") {
        let line = format!("{before}; pleach_session=old; pleach_session_0a=theirs; pleach_session_0b={value}");
        let headers = headers(header::COOKIE, &[line.into_bytes()]);
        prop_assert_eq!(session(&headers, "pleach_session_0b"), Some(value.as_str()));
        prop_assert_eq!(session(&headers, "pleach_session_0c"), None);
    }
}

#[test]
fn x6_twice_as_long_a_cookie_header_costs_at_most_two_and_a_half_times() {
    let line = |size: usize| headers(header::COOKIE, &["a=b; ".repeat(size / 5).into_bytes()]);
    // As long as a head may be, and half of it.
    assert_doubles("a line of cookies", &line(64 << 10), &line(128 << 10), |headers| {
        assert_eq!(session(headers, "pleach_session_00"), None);
    });
}
