//! Tables of [`super`].

use super::*;

fn hosts(patterns: &[&str]) -> AllowedHosts {
    AllowedHosts::parse(patterns.iter().copied()).expect("the patterns of this test are right")
}

#[test]
fn only_listed_hosts_are_called_and_only_literal_ones_may_be_plain_or_odd() {
    let allowed = hosts(&[
        "*.commercetools.com",
        "127.0.0.1",
        "localhost",
        "connect.internal:8443",
        "[::1]:80",
        "Bücher.example",
    ]);
    let refused = |host: &str| Err(UrlRefused::NotAllowed(host.to_owned()));
    for (case, url, expected) in [
        ("the service", "https://connect.europe-west1.gcp.commercetools.com", Ok(Reach::Public)),
        ("written-out default port", "https://auth.x.commercetools.com:443", Ok(Reach::Public)),
        ("upper case", "HTTPS://CONNECT.X.COMMERCETOOLS.COM", Ok(Reach::Public)),
        ("the name above", "https://commercetools.com", refused("commercetools.com")),
        ("only the same letters", "https://evilcommercetools.com", refused("evilcommercetools.com")),
        (
            "as a label of another",
            "https://a.commercetools.com.evil.example",
            refused("a.commercetools.com.evil.example"),
        ),
        ("final dot", "https://a.commercetools.com.", refused("a.commercetools.com.")),
        ("wildcard over http", "http://a.commercetools.com", Err(UrlRefused::PlainHttp("a.commercetools.com".into()))),
        ("wildcard on a port", "https://a.commercetools.com:8443", Err(UrlRefused::Port("a.commercetools.com".into()))),
        ("literal address, any port", "http://127.0.0.1:8787", Ok(Reach::Any)),
        ("the same in another spelling", "http://0x7f.1:8787", Ok(Reach::Any)),
        ("another loopback address", "http://127.0.0.2:8787", refused("127.0.0.2")),
        ("literal name", "http://localhost:1", Ok(Reach::Any)),
        ("literal name and port", "https://connect.internal:8443", Ok(Reach::Any)),
        ("literal name, other port", "https://connect.internal", refused("connect.internal")),
        ("bracketed address", "http://[::1]:80", Ok(Reach::Any)),
        ("bracketed address, other port", "http://[::1]:81", refused("[::1]")),
        ("metadata service", "http://169.254.169.254/", refused("169.254.169.254")),
        ("international name", "https://b\u{fc}cher.example", Ok(Reach::Any)),
        ("with a hyphen in front", "https://evil-commercetools.com", refused("evil-commercetools.com")),
        ("an empty label", "https://.commercetools.com", refused(".commercetools.com")),
        ("letters that look alike", "https://a.c\u{43e}mmercetools.com", refused("a.xn--cmmercetools-4fk.com")),
        ("wide letters are the same letters", "https://a.\u{ff43}ommercetools.com", Ok(Reach::Public)),
        ("a wide dot is a dot", "https://a\u{3002}commercetools.com", Ok(Reach::Public)),
        ("an encoded dot is a dot", "https://a%2Ecommercetools.com", Ok(Reach::Public)),
        ("an encoded slash", "https://a.commercetools.com%2F.evil.example", Err(UrlRefused::NotAUrl)),
        ("a backslash ends the host", "https://evil.example\\.commercetools.com", refused("evil.example")),
        (
            "a line break is no part of it",
            "https://a.commercetools.com\n.evil.example",
            refused("a.commercetools.com.evil.example"),
        ),
        ("decimal", "http://2130706434", refused("127.0.0.2")),
        ("octal", "http://0177.0.0.2", refused("127.0.0.2")),
        ("hexadecimal", "http://0x7f000002", refused("127.0.0.2")),
        ("short", "http://127.2", refused("127.0.0.2")),
        ("nothing at all", "http://0", refused("0.0.0.0")),
        ("mapped into IPv6", "http://[::ffff:127.0.0.1]", refused("[::ffff:7f00:1]")),
        ("metadata service, decimal", "http://2852039166", refused("169.254.169.254")),
        ("metadata service, mapped", "http://[::ffff:169.254.169.254]", refused("[::ffff:a9fe:a9fe]")),
        ("port above all ports", "https://a.commercetools.com:65979", Err(UrlRefused::NotAUrl)),
        (
            "user, and a port that is a password",
            "https://a.commercetools.com:443@127.0.0.1",
            Err(UrlRefused::Extra("user info")),
        ),
        ("only a name of a user", "https://me@a.commercetools.com", Err(UrlRefused::Extra("user info"))),
        ("user info", "https://a.commercetools.com@127.0.0.1", Err(UrlRefused::Extra("user info"))),
        ("query", "http://127.0.0.1?x=1", Err(UrlRefused::Extra("a query"))),
        ("fragment", "http://127.0.0.1#x", Err(UrlRefused::Extra("a fragment"))),
        ("other scheme", "ftp://127.0.0.1", Err(UrlRefused::Scheme("ftp".into()))),
        ("no URL", "127.0.0.1:8787", Err(UrlRefused::NotAUrl)),
        ("nothing", "", Err(UrlRefused::NotAUrl)),
    ] {
        assert_eq!(allowed.endpoint(url).map(|endpoint| endpoint.reach()), expected, "{case}");
    }
}

#[test]
fn the_default_is_the_service() {
    assert_eq!(AllowedHosts::default(), hosts(&[AllowedHosts::DEFAULT]));
}

#[test]
fn patterns_that_name_no_host_are_refused() {
    for pattern in [
        "",
        "*",
        "*.",
        "a*.example.com",
        "*.*.example",
        "*.127.0.0.1",
        "*.example.com:443",
        "host:",
        "host:x",
        "a/b",
        "u@h",
    ] {
        let error = AllowedHosts::parse([pattern]).expect_err(pattern);
        assert!(error.to_string().contains("`*.example.com`"), "{error}");
    }
}

#[test]
fn paths_are_joined_without_double_slashes_and_never_leave_the_base() {
    let allowed = hosts(&["localhost"]);
    for (base, path, expected) in [
        ("http://localhost", "/demo/deployments", Some("http://localhost/demo/deployments")),
        ("http://localhost/", "/demo/deployments/key=a", Some("http://localhost/demo/deployments/key=a")),
        ("http://localhost/connect/", "/demo", Some("http://localhost/connect/demo")),
        ("http://localhost", "/demo/deployments/a%2Fb", Some("http://localhost/demo/deployments/a%2Fb")),
        ("http://localhost", "/demo/deployments/%2E%2E", None),
        ("http://localhost", "/demo/deployments/%2E", None),
        ("http://localhost", "//deployments", None),
    ] {
        let endpoint = allowed.endpoint(base).expect("the base is allowed");
        assert_eq!(endpoint.at(path).as_ref().map(Url::as_str), expected, "{base} {path}");
    }
}

#[test]
fn addresses_that_are_not_public_are_known_in_every_disguise() {
    for (address, public) in [
        ("8.8.8.8", true),
        ("2a00:1450::1", true),
        ("::ffff:8.8.8.8", true),
        ("64:ff9b::808:808", true),
        ("2600:1901::1", true),
        ("172.32.0.1", true),
        ("100.128.0.1", true),
        ("100.100.100.200", false),
        ("192.0.0.192", false),
        ("192.0.2.1", false),
        ("192.88.99.1", false),
        ("198.51.100.1", false),
        ("203.0.113.1", false),
        ("240.0.0.1", false),
        ("fd00:ec2::254", false),
        ("::ffff:169.254.169.254", false),
        ("::ffff:0:7f00:1", false),
        ("64:ff9b::a9fe:a9fe", false),
        ("64:ff9b:1::7f00:1", false),
        ("100::1", false),
        ("2001::1", false),
        ("2001:2::1", false),
        ("2001:20::1", false),
        ("2002:a9fe:a9fe::1", false),
        ("3fff::1", false),
        ("127.0.0.1", false),
        ("10.1.2.3", false),
        ("172.16.0.1", false),
        ("192.168.1.1", false),
        ("169.254.169.254", false),
        ("100.64.0.1", false),
        ("0.0.0.0", false),
        ("255.255.255.255", false),
        ("224.0.0.1", false),
        ("198.18.0.1", false),
        ("::", false),
        ("::1", false),
        ("fe80::1", false),
        ("fd00::1", false),
        ("fec0::1", false),
        ("ff02::1", false),
        ("::ffff:127.0.0.1", false),
        ("::127.0.0.1", false),
        ("64:ff9b::a00:1", false),
        ("2002:7f00:1::", false),
        ("2001:db8::1", false),
    ] {
        assert_eq!(is_public(address.parse().expect("an address")), public, "{address}");
    }
}
