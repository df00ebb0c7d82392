//! `run` on machines that have addresses of one family only: network namespaces, which need root and the programs
//! `unshare` and `ip`. Without them the test is skipped with a notice.

use crate::prelude::*;
use crate::repeated_options::KUBECONFIG;

const PROGRAM: &str = env!("CARGO_BIN_EXE_connect-operator");

/// Makes the network `$3`, starts the operator at the address `$2`, and asks it over every further address, without a
/// program that a machine may lack. There is no cluster, so it answers that it is not ready.
const SCRIPT: &str = r#"
set -eu
program=$1 listen=$2 network=$3
shift 3
ip link set lo up
eval "$network"
mkfifo log
exec 3<>log
"$program" run --kubeconfig kubeconfig --health-listen "$listen" >&3 2>&1 &
trap 'kill $!' EXIT
while read -r line <&3; do
  case $line in
    *'"message":"listening"'*) break ;;
    *Error:*) echo "$line"; exit 1 ;;
  esac
done
for address; do
  host=${address%:*} host=${host#[} host=${host%]}
  exec 4<>"/dev/tcp/$host/${address##*:}"
  printf 'GET /readyz HTTP/1.0\r\n\r\n' >&4
  read -r answer <&4
  echo "$address: $answer"
done
"#;

#[test]
fn probes_are_answered_in_networks_of_either_family() {
    let tried = Command::new("unshare").args(["--net", "ip", "link", "set", "lo", "up"]).stderr(Stdio::null()).status();
    if !tried.is_ok_and(|status| status.success()) {
        eprintln!("NOT TRIED: networks of one family. They need root, and the programs unshare and ip");
        return;
    }
    let (only_6, only_4) = ("ip address delete 127.0.0.1/8 dev lo", "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6");
    let apart = "echo 1 >/proc/sys/net/ipv6/bindv6only";
    for (case, network, listen, over) in [
        ("IPv6 only", only_6, "[::]:8081", &["[::1]:8081"][..]),
        ("IPv6 only, and all addresses of IPv4", only_6, "0.0.0.0:8081", &["[::1]:8081"]),
        ("IPv4 only", only_4, "[::]:8081", &["127.0.0.1:8081"]),
        ("IPv4 only, and all addresses of IPv4", only_4, "0.0.0.0:8081", &["127.0.0.1:8081"]),
        ("both, apart by default", apart, "[::]:8081", &["[::1]:8081", "127.0.0.1:8081"]),
        ("one address", "true", "127.0.0.1:8081", &["127.0.0.1:8081"]),
    ] {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kubeconfig"), KUBECONFIG).unwrap();
        let mut script = Command::new("unshare");
        script.args(["--net", "timeout", "60", "bash", "-c", SCRIPT, "bash", PROGRAM, listen, network]).args(over);
        let output = script.current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        for address in over {
            assert!(text.contains(&format!("{address}: HTTP/1.0 503")), "{case}: {text}");
        }
    }
}
