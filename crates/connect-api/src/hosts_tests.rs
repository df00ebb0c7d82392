//! Tables of [`super`].

use super::*;
use crate::testing::rows;

fn hosts(patterns: &[&str]) -> AllowedHosts {
    AllowedHosts::parse(patterns.iter().copied()).expect("the patterns of this test are valid")
}

#[test]
fn only_listed_hosts_are_called_and_only_literal_ones_may_be_plain_or_odd() {
    let allowed = hosts(&[
        "*.commercetools.com",
        "http://127.0.0.1:*",
        "http://localhost:8787",
        "connect.internal:8443",
        "connect.plain",
        "http://[::1]:80",
        "https://[::2]:*",
        "[::3]",
        "Bücher.example",
    ]);
    // What is not called is shown with the pattern that would allow it.
    let shown = |url: &str| match allowed.endpoint(url).map(|endpoint| endpoint.reach()) {
        Ok(Reach::Public) => "public".to_owned(),
        Ok(Reach::Any) => "any".to_owned(),
        Err(UrlRefused::NotAllowed(pattern)) => format!("not listed: {pattern}"),
        Err(refused) => format!("{refused:?}").replace('"', "'"),
    };
    let table = "
        the service | https://connect.europe-west1.gcp.commercetools.com | public
        written-out default port | https://auth.x.commercetools.com:443 | public
        upper case | HTTPS://CONNECT.X.COMMERCETOOLS.COM | public
        the name above | https://commercetools.com | not listed: commercetools.com
        only the same letters | https://evilcommercetools.com | not listed: evilcommercetools.com
        as a label of another | https://a.commercetools.com.evil.example | not listed: a.commercetools.com.evil.example
        final dot | https://a.commercetools.com. | not listed: a.commercetools.com.
        wildcard over http | http://a.commercetools.com | not listed: http://a.commercetools.com
        wildcard on a port | https://a.commercetools.com:8443 | not listed: a.commercetools.com:8443
        literal address, any port | http://127.0.0.1:8787 | any
        the same in another spelling | http://0x7f.1:8787 | any
        another loopback address | http://127.0.0.2:8787 | not listed: http://127.0.0.2:8787
        literal, over https | https://127.0.0.1:8787 | not listed: 127.0.0.1:8787
        literal name | http://localhost:8787 | any
        literal name, any other port | http://localhost:1 | not listed: http://localhost:1
        literal name, over https | https://localhost:8787 | not listed: localhost:8787
        without scheme: https | https://connect.plain | any
        without scheme: port 443 | https://connect.plain:8443 | not listed: connect.plain:8443
        without scheme: not plain | http://connect.plain | not listed: http://connect.plain
        any port, over https | https://[::2]:9 | any
        literal name and port | https://connect.internal:8443 | any
        literal name, other port | https://connect.internal | not listed: connect.internal
        bracketed address | http://[::1]:80 | any
        bracketed address, other port | http://[::1]:81 | not listed: http://[::1]:81
        bracketed address, without a port | https://[::3] | any
        metadata service | http://169.254.169.254/ | not listed: http://169.254.169.254
        international name | https://b\u{fc}cher.example | any
        with a hyphen in front | https://evil-commercetools.com | not listed: evil-commercetools.com
        an empty label | https://.commercetools.com | not listed: .commercetools.com
        letters that look alike | https://a.c\u{43e}mmercetools.com | not listed: a.xn--cmmercetools-4fk.com
        wide letters are the same letters | https://a.\u{ff43}ommercetools.com | public
        a wide dot is a dot | https://a\u{3002}commercetools.com | public
        an encoded dot is a dot | https://a%2Ecommercetools.com | public
        an encoded slash | https://a.commercetools.com%2F.evil.example | NotAUrl
        a backslash ends the host | https://evil.example\\.commercetools.com | not listed: evil.example
        a line break is no part of it | https://a.commerce\\ntools.com.example | not listed: a.commercetools.com.example
        decimal | http://2130706434 | not listed: http://127.0.0.2
        octal | http://0177.0.0.2 | not listed: http://127.0.0.2
        hexadecimal | http://0x7f000002 | not listed: http://127.0.0.2
        short | http://127.2 | not listed: http://127.0.0.2
        nothing at all | http://0 | not listed: http://0.0.0.0
        mapped into IPv6 | http://[::ffff:127.0.0.1] | not listed: http://[::ffff:7f00:1]
        metadata service, decimal | http://2852039166 | not listed: http://169.254.169.254
        metadata service, mapped | http://[::ffff:169.254.169.254] | not listed: http://[::ffff:a9fe:a9fe]
        port above all ports | https://a.commercetools.com:65979 | NotAUrl
        user, and a port that is a password | https://a.commercetools.com:443@127.0.0.1 | Extra('user info')
        only a name of a user | https://me@a.commercetools.com | Extra('user info')
        user info | https://a.commercetools.com@127.0.0.1 | Extra('user info')
        query | http://127.0.0.1?x=1 | Extra('a query')
        fragment | http://127.0.0.1#x | Extra('a fragment')
        other scheme | ftp://127.0.0.1 | Scheme('ftp')
        no URL | 127.0.0.1:8787 | NotAUrl
        nothing |  | NotAUrl
    ";
    for [case, url, expected] in rows(table) {
        assert_eq!(shown(&url), expected, "{case}");
    }
}

#[test]
fn by_default_only_the_services_that_are_used_are_called() {
    assert_eq!(AllowedHosts::default(), hosts(&AllowedHosts::DEFAULT.split(',').collect::<Vec<_>>()));
    let refused = |host: &str| Err(UrlRefused::NotAllowed(host.to_owned()));
    for (host, expected) in [
        ("connect.europe-west1.gcp.commercetools.com", Ok(Reach::Public)),
        ("auth.us-east-2.aws.commercetools.com", Ok(Reach::Public)),
        ("api.eu-central-1.aws.commercetools.com", Ok(Reach::Public)),
        ("connect.commercetools.com", refused("connect.commercetools.com")),
        ("mc.europe-west1.gcp.commercetools.com", refused("mc.europe-west1.gcp.commercetools.com")),
        ("docs.commercetools.com", refused("docs.commercetools.com")),
        ("connect..commercetools.com", refused("connect..commercetools.com")),
        ("evil.connect.x.commercetools.com", refused("evil.connect.x.commercetools.com")),
        ("connect.x.commercetools.com.evil.example", refused("connect.x.commercetools.com.evil.example")),
        ("connectx.y.commercetools.com", refused("connectx.y.commercetools.com")),
    ] {
        let called = AllowedHosts::default().endpoint(&format!("https://{host}"));
        assert_eq!(called.map(|endpoint| endpoint.reach()), expected, "{host}");
    }
}

#[test]
fn a_refusal_names_the_pattern_that_allows_the_url() {
    for url in [
        "https://a.example",
        "https://a.example:8443/x",
        "http://a.example",
        "http://a.example:81",
        "http://[::1]:8080",
    ] {
        let refused = hosts(&[]).endpoint(url).expect_err("nothing is listed");
        let UrlRefused::NotAllowed(pattern) = &refused else { panic!("{refused}") };
        assert!(refused.to_string().contains(&format!("add `{pattern}` to the list")), "{refused}");
        assert_eq!(refused.pattern(), Some(pattern.as_str()), "{url}");
        assert!(hosts(&[pattern]).endpoint(url).is_ok(), "{url}: {pattern}");
    }
}

#[test]
fn patterns_that_name_no_host_are_refused() {
    let patterns = "* *. a*.example.com *a.example.com *.*.example *.127.0.0.1 connect.* *.example.com:443 \
                    http://*.example.com http:// ftp://host host: host:x host:65536 host:** host:1:2 a/b \
                    http://a/b u@h";
    for pattern in patterns.split(' ').chain([""]) {
        let error = AllowedHosts::parse([pattern]).expect_err(pattern);
        assert!(error.to_string().contains("`*.example.com`"), "{error}");
    }
}

#[test]
fn paths_are_joined_without_double_slashes_and_never_leave_the_base() {
    let allowed = hosts(&["http://localhost"]);
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
        assert_eq!(endpoint.to_string(), base.trim_end_matches('/'));
        assert_eq!(endpoint.at(path).as_ref().map(Url::as_str), expected, "{base} {path}");
    }
}

#[test]
fn only_hosts_of_this_machine_are_local() {
    for (host, is_local) in [
        ("localhost", true),
        ("a.localhost", true),
        ("localhost.example", false),
        ("127.0.0.2", true),
        ("10.0.0.1", false),
        ("[::1]", true),
        ("[::2]", false),
    ] {
        let endpoint = hosts(&[host]).endpoint(&format!("https://{host}")).expect("it is listed");
        assert_eq!(endpoint.is_local(), is_local, "{host}");
    }
}

#[test]
fn addresses_that_are_not_public_are_known_in_every_disguise() {
    let public = "8.8.8.8 2a00:1450::1 ::ffff:8.8.8.8 64:ff9b::808:808 2600:1901::1 172.32.0.1 100.128.0.1 8.0.0.1 \
                  8.88.99.1 192.1.0.1 192.88.1.1 198.20.0.1";
    let others = "100.100.100.200 192.0.0.192 192.0.2.1 192.88.99.1 198.51.100.1 203.0.113.1 240.0.0.1 \
                  fd00:ec2::254 ::ffff:169.254.169.254 ::ffff:0:7f00:1 64:ff9b::a9fe:a9fe 64:ff9b:1::7f00:1 100::1 \
                  2001::1 2001:2::1 2001:20::1 2002:a9fe:a9fe::1 3fff::1 127.0.0.1 10.1.2.3 172.16.0.1 192.168.1.1 \
                  169.254.169.254 100.64.0.1 0.0.0.0 255.255.255.255 224.0.0.1 198.18.0.1 198.19.0.1 :: ::1 \
                  fe80::1 fd00::1 fec0::1 ff02::1 ::ffff:127.0.0.1 ::ffff:192.88.99.1 ::127.0.0.1 64:ff9b::a00:1 \
                  2002:7f00:1:: 2001:db8::1";
    for (addresses, expected) in [(public, true), (others, false)] {
        for address in addresses.split(' ') {
            assert_eq!(is_public(address.parse().expect("an address")), expected, "{address}");
        }
    }
}
