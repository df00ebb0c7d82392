//! The example actions of contract section 11: a shopping cart. Pure; carts live in memory until the server stops.

use std::collections::VecDeque;

use serde_json::{Value, json};

use crate::ids::Ids;

/// Maximum number of carts; beyond it, the oldest is removed.
const KEPT: usize = 1_000;
/// Maximum number of different products in one cart.
const MOST_ITEMS: usize = 100;
/// Maximum number of pieces of one product.
const MOST_PIECES: u32 = 10_000;
/// Longest `sku`, in characters.
const LONGEST_SKU: usize = 256;
/// Common currencies without cents (ISO 4217).
const WITHOUT_CENTS: [&str; 4] = ["CLP", "ISK", "JPY", "KRW"];

/// The carts, oldest first.
#[derive(Debug, Default)]
pub(super) struct Carts(VecDeque<Cart>);

/// One cart. Its id is also the session id of the frontend that fills it.
#[derive(Debug)]
pub(super) struct Cart {
    pub(super) id: String,
    version: u64,
    currency: String,
    items: Vec<Item>,
}

#[derive(Debug)]
struct Item {
    id: String,
    sku: String,
    count: u32,
}

impl Carts {
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|cart| cart.id == id)
    }

    /// Returns the cart of a session, or a new cart if the session has none. A cart keeps its first currency.
    pub(super) fn of(&mut self, session: Option<&str>, currency: &str, ids: &mut Ids) -> &mut Cart {
        let found = session.and_then(|id| self.0.iter().position(|cart| cart.id == id));
        let at = found.unwrap_or_else(|| {
            if self.0.len() == KEPT {
                self.0.pop_front();
            }
            self.0.push_back(Cart { id: ids.next(), version: 1, currency: currency.to_owned(), items: Vec::new() });
            self.0.len() - 1
        });
        &mut self.0[at]
    }
}

/// Reads `sku` and `count` of `{"variant": {"sku": "A1", "count": 1}}`, or returns what is wrong with the body.
pub(super) fn addition(body: Option<&Value>) -> Result<(String, u32), String> {
    let variant =
        body.and_then(|body| body.get("variant")).ok_or("The body has no 'variant' with 'sku' and 'count'.")?;
    let sku = variant.get("sku").and_then(Value::as_str).filter(|sku| !sku.is_empty());
    let sku = sku.filter(|sku| sku.chars().count() <= LONGEST_SKU);
    let sku = sku.ok_or_else(|| format!("'variant.sku' must be a text of 1 to {LONGEST_SKU} characters."))?;
    let count = variant.get("count").and_then(Value::as_u64).and_then(|count| u32::try_from(count).ok());
    let count = count.filter(|count| (1..=MOST_PIECES).contains(count));
    let count = count.ok_or_else(|| format!("'variant.count' must be a whole number from 1 to {MOST_PIECES}."))?;
    Ok((sku.to_owned(), count))
}

impl Cart {
    /// Adds pieces of a product to the cart; the count of a product that is already in the cart increases.
    pub(super) fn add(&mut self, sku: &str, count: u32, ids: &mut Ids) -> Result<(), String> {
        let full = self.items.len() == MOST_ITEMS;
        match self.items.iter_mut().find(|item| item.sku == sku) {
            Some(item) => {
                let sum = item.count.saturating_add(count);
                if sum > MOST_PIECES {
                    return Err(format!("There cannot be more than {MOST_PIECES} pieces of one product in a cart."));
                }
                item.count = sum;
            }
            None if full => {
                return Err(format!("There cannot be more than {MOST_ITEMS} products in a cart."));
            }
            None => self.items.push(Item { id: ids.next(), sku: sku.to_owned(), count }),
        }
        self.version += 1;
        Ok(())
    }

    /// Returns the cart as answers show it.
    pub(super) fn shown(&self) -> Value {
        let sum = self.items.iter().map(Item::total).sum();
        json!({
            "cartId": self.id,
            "cartVersion": self.version.to_string(),
            "lineItems": self.items.iter().map(|item| item.shown(&self.currency)).collect::<Vec<_>>(),
            "sum": money(sum, &self.currency),
            "shippingAddress": {},
            "billingAddress": {},
            "payments": [],
            "discountCodes": [],
        })
    }
}

impl Item {
    fn total(&self) -> u64 {
        price(&self.sku) * u64::from(self.count)
    }

    fn shown(&self, currency: &str) -> Value {
        let Self { id, sku, count } = self;
        let price = money(price(sku), currency);
        json!({
            "lineItemId": id,
            "productId": format!("product-{sku}"),
            "name": format!("Product {sku}"),
            "type": "variant",
            "count": count,
            "price": price,
            "discountTexts": [],
            "discounts": [],
            "totalPrice": money(self.total(), currency),
            "variant": {
                "id": "1",
                "sku": sku,
                "images": [],
                "groupId": format!("product-{sku}"),
                "attributes": {},
                "price": price,
                "isOnStock": true,
            },
            "isGift": false,
            "_url": format!("/product/{sku}"),
        })
    }
}

/// Returns the price of a product in cents: 1.00 to 100.99, derived from the `sku`, so the same after each start.
fn price(sku: &str) -> u64 {
    100 + sku.bytes().fold(0, |sum, byte| (sum * 31 + u64::from(byte)) % 10_000)
}

fn money(amount: u64, currency: &str) -> Value {
    let digits = if WITHOUT_CENTS.contains(&currency) { 0 } else { 2 };
    json!({"fractionDigits": digits, "centAmount": amount, "currencyCode": currency})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rejected_additions_name_the_reason() {
        for (case, body, expected) in [
            ("nothing", None, "variant"),
            ("a list", Some(json!([1])), "variant"),
            ("no sku", Some(json!({"variant": {"count": 1}})), "variant.sku"),
            ("an empty sku", Some(json!({"variant": {"sku": "", "count": 1}})), "variant.sku"),
            ("a number as sku", Some(json!({"variant": {"sku": 7, "count": 1}})), "variant.sku"),
            ("no count", Some(json!({"variant": {"sku": "A1"}})), "variant.count"),
            ("none", Some(json!({"variant": {"sku": "A1", "count": 0}})), "variant.count"),
            ("less than none", Some(json!({"variant": {"sku": "A1", "count": -1}})), "variant.count"),
            ("half a piece", Some(json!({"variant": {"sku": "A1", "count": 1.5}})), "variant.count"),
            ("too many", Some(json!({"variant": {"sku": "A1", "count": 10_001}})), "variant.count"),
        ] {
            let error = addition(body.as_ref()).expect_err(case);
            assert!(error.contains(expected), "{case}: {error}");
        }
        let (mut carts, mut ids) = (Carts::default(), Ids::new(Some(1)));
        let cart = carts.of(None, "EUR", &mut ids);
        for number in 0..MOST_ITEMS {
            cart.add(&number.to_string(), MOST_PIECES, &mut ids).expect("the cart has room");
        }
        let before = cart.shown();
        assert!(cart.add("one more", 1, &mut ids).is_err(), "too many products");
        assert!(cart.add("0", 1, &mut ids).is_err(), "too many pieces");
        assert_eq!(cart.shown(), before, "nothing changed");
    }

    #[test]
    fn the_oldest_cart_goes_when_there_are_too_many() {
        let (mut carts, mut ids) = (Carts::default(), Ids::new(Some(1)));
        let first = carts.of(None, "EUR", &mut ids).id.clone();
        for _ in 1..KEPT {
            carts.of(None, "EUR", &mut ids);
        }
        assert!(carts.has(&first));
        carts.of(None, "EUR", &mut ids);
        assert!(!carts.has(&first));
    }
}
