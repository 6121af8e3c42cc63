//! The MCP server through which other programs use runs: tools and resources over HTTP without sessions, or over standard input
//! and output. It serves both versions of the protocol and remembers nothing between two requests; what the tools do is
//! the `ToolProvider`'s.

use async_trait::async_trait;
use engine::effect::Class;
use http::{Request, Response};
use http_body::Body;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CallToolResult, ConstString, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, GetPromptRequestMethod, GetPromptRequestParams, GetPromptResponse, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, serve_server};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use serde_json::Value;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};

/// As for every other request.
const MAX_BODY: usize = 1 << 20;
/// Lists are each caller's own, and change with what happens.
const FRESH_MS: u64 = 0;

/// One thing that can be asked for.
pub struct Action {
    pub name: &'static str,
    pub description: &'static str,
    /// Of its arguments.
    pub schema: Value,
    pub class: Class,
    /// Takes something away.
    pub destructive: bool,
}

/// A text that can be read, as a list shows it.
pub struct ResourceEntry {
    pub uri: String,
    pub title: String,
    pub media_type: &'static str,
}

/// Why something was not done.
pub enum Refused {
    /// There is no such thing that this caller may see.
    NotFound(String),
    /// In words that help the caller do better.
    Request(String),
}

/// What other programs see. One value stands for one caller.
#[async_trait]
pub trait ToolProvider: Send + Sync + 'static {
    fn about(&self) -> &'static str;
    fn actions(&self) -> Vec<Action>;
    async fn act(&self, action: &str, arguments: Value) -> Result<Value, Refused>;
    async fn texts(&self, cursor: Option<String>) -> Result<(Vec<ResourceEntry>, Option<String>), Refused>;
    /// Patterns of addresses that can be read though no list names them all, with what is there.
    fn patterns(&self) -> Vec<(&'static str, &'static str)>;
    async fn read(&self, uri: &str) -> Result<(&'static str, String), Refused>;
}

/// One request over HTTP. Who asks, and from where, is settled before.
pub async fn answer<B>(
    provider: Arc<dyn ToolProvider>,
    request: Request<B>,
) -> Response<impl Body<Data = bytes::Bytes, Error = std::convert::Infallible>>
where
    B: Body + Send + 'static,
    B::Error: std::fmt::Display,
    B::Data: Send + 'static,
{
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_BODY)
        .disable_allowed_hosts();
    let service = StreamableHttpService::new(
        move || Ok(ProviderHandler(provider.clone())),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    service.handle(request).await
}

/// A whole conversation, until the other side ends it.
pub async fn converse(
    provider: Arc<dyn ToolProvider>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), String> {
    let service = serve_server(ProviderHandler(provider), (input, output)).await.map_err(|error| error.to_string())?;
    service.waiting().await.map(drop).map_err(|error| error.to_string())
}

#[derive(Clone)]
struct ProviderHandler(Arc<dyn ToolProvider>);

/// The library names the method and says no more.
fn absent(method: &str) -> ErrorData {
    let method: String = method.chars().take(80).collect();
    let why = format!(
        "there is no method {method:?} here; methods: initialize, server/discover, ping, tools/list, tools/call, \
         resources/list, resources/templates/list, resources/read"
    );
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, why, None)
}

impl ServerHandler for ProviderHandler {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_resources().build())
            .with_server_info(Implementation::new("pleach", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.0.about())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = ListToolsResult::with_all_items(self.0.actions().into_iter().map(tool).collect());
        (listed.ttl_ms, listed.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.actions().into_iter().find(|action| action.name == name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let known: Vec<&str> = self.0.actions().iter().map(|action| action.name).collect();
        if !known.contains(&&*request.name) {
            let why = format!("there is no tool {:?}; tools: {}", request.name, known.join(", "));
            return Err(ErrorData::invalid_params(why, None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = match self.0.act(&request.name, arguments).await {
            Ok(value) => CallToolResult::structured(value),
            Err(Refused::NotFound(why) | Refused::Request(why)) => CallToolResult::error(vec![ContentBlock::text(why)]),
        };
        Ok(result.into())
    }

    /// There are none, and saying so is not the same as having an empty list of them.
    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(absent(ListPromptsRequestMethod::VALUE))
    }

    async fn get_prompt(
        &self,
        _request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Err(absent(GetPromptRequestMethod::VALUE))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(absent(&request.method))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (texts, next) = self.0.texts(request.and_then(|request| request.cursor)).await.map_err(refused)?;
        let resource = |text: ResourceEntry| {
            let mut resource = Resource::new(text.uri, text.title);
            resource.mime_type = Some(text.media_type.into());
            resource
        };
        let mut listed = ListResourcesResult::with_all_items(texts.into_iter().map(resource).collect());
        listed.next_cursor = next;
        (listed.ttl_ms, listed.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let patterns = self.0.patterns().into_iter().map(|(pattern, name)| ResourceTemplate::new(pattern, name));
        let mut listed = ListResourceTemplatesResult::with_all_items(patterns.collect());
        (listed.ttl_ms, listed.cache_scope) = (Some(FRESH_MS), Some(CacheScope::Private));
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let modern = context.protocol_version() == Some(rmcp::model::ProtocolVersion::V_2026_07_28);
        match self.0.read(&request.uri).await {
            Ok((media_type, text)) => {
                let contents = ResourceContents::text(text, request.uri).with_mime_type(media_type);
                let result = ReadResourceResult::new(vec![contents]);
                Ok(result.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Private).into())
            }
            // The newer protocol has no code of its own for this.
            Err(Refused::NotFound(why)) if !modern => Err(ErrorData::resource_not_found(why, None)),
            Err(why) => Err(refused(why)),
        }
    }
}

fn refused(refused: Refused) -> ErrorData {
    match refused {
        Refused::NotFound(why) | Refused::Request(why) => ErrorData::invalid_params(why, None),
    }
}

fn tool(action: Action) -> Tool {
    let schema = action.schema.as_object().cloned().unwrap_or_default();
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = Some(action.class == Class::ReadOnly);
    hints.idempotent_hint = Some(action.class != Class::Once);
    hints.destructive_hint = Some(action.destructive);
    hints.open_world_hint = Some(false);
    Tool::new(action.name, action.description, Arc::new(schema)).with_annotations(hints)
}
