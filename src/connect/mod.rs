//! The Connect API: model, routes, errors (both sides) and the client.
