//! The command line as people and scripts use it: whole crawls, kills, and input that makes no sense.

mod bad_input;
mod damage;
mod kills;
