//! The gateway against model servers that nobody here wrote: aimock and mock-ai-api.

mod aimock;
#[path = "../model_gateway/harness.rs"]
mod harness;
mod mock_ai_api;
mod peer;
