//! The schemas as they are installed: the committed copies, and what must hold for every field of them.

use connect_operator::crd;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use crate::golden::assert_golden;

#[test]
fn the_committed_crds_are_what_the_code_makes() {
    for crd in crd::all() {
        let name = crd.metadata.name.clone().unwrap();
        assert_golden(&format!("crds/{name}.yaml"), &crd::schema::to_yaml(&crd));
    }
}
