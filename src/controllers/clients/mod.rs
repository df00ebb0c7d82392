//! The clients of the API server, of the Connect API and of frontends.

pub mod action_factory;
pub mod connect_factory;
pub mod connection;
