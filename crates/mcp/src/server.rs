//! The MCP server through which other programs use runs: tools and resources over HTTP without sessions, or over standard input
//! and output. It supports both protocol versions and has no state between requests. A `ToolProvider` carries the tools out.

use async_trait::async_trait;
use engine::effect::RepeatSafety;
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

/// The same limit as for every request of the API.
const MAX_BODY_BYTES: usize = 1 << 20;
/// Lists depend on the caller and change at any time, so clients must not cache them.
const CACHE_TTL_MS: u64 = 0;

/// One tool as a client sees it.
pub struct ToolDefinition {
    pub name: &'static str,
    pub description: &'static str,
    /// The JSON schema of its arguments.
    pub schema: Value,
    pub class: RepeatSafety,
    /// Changes or removes something that exists.
    pub destructive: bool,
}

/// A resource in a list.
pub struct ResourceEntry {
    pub uri: String,
    pub title: String,
    pub media_type: &'static str,
}

/// Why a request was not carried out.
pub enum RequestError {
    /// It does not exist, or this caller may not see it.
    NotFound(String),
    /// It is refused; the text says why and what is valid.
    Refused(String),
}

/// The tools and resources of one caller.
#[async_trait]
pub trait ToolProvider: Send + Sync + 'static {
    /// What a client's model is told about these tools.
    fn instructions(&self) -> &'static str;
    fn tools(&self) -> Vec<ToolDefinition>;
    async fn call_tool(&self, name: &str, arguments: Value) -> Result<Value, RequestError>;
    async fn list_resources(
        &self,
        cursor: Option<String>,
    ) -> Result<(Vec<ResourceEntry>, Option<String>), RequestError>;
    /// URI templates, each with a name. Lists do not contain every resource that can be read.
    fn resource_templates(&self) -> Vec<(&'static str, &'static str)>;
    /// The media type and the text of a resource.
    async fn read_resource(&self, uri: &str) -> Result<(&'static str, String), RequestError>;
}

/// Answers one request over HTTP. The caller has authenticated it and checked its origin.
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
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        .disable_allowed_hosts();
    let service = StreamableHttpService::new(
        move || Ok(ProviderHandler(provider.clone())),
        Arc::new(NeverSessionManager::default()),
        config,
    );
    service.handle(request).await
}

/// Serves one client until it disconnects.
pub async fn serve(
    provider: Arc<dyn ToolProvider>,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), String> {
    let service = serve_server(ProviderHandler(provider), (input, output)).await.map_err(|error| error.to_string())?;
    service.waiting().await.map(drop).map_err(|error| error.to_string())
}

#[derive(Clone)]
struct ProviderHandler(Arc<dyn ToolProvider>);

/// The error of the MCP library only repeats the method; this one lists those that exist.
fn unknown_method(method: &str) -> ErrorData {
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
            .with_instructions(self.0.instructions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut listed = ListToolsResult::with_all_items(self.0.tools().into_iter().map(tool).collect());
        (listed.ttl_ms, listed.cache_scope) = (Some(CACHE_TTL_MS), Some(CacheScope::Private));
        Ok(listed)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.0.tools().into_iter().find(|definition| definition.name == name).map(tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let known: Vec<&str> = self.0.tools().iter().map(|definition| definition.name).collect();
        if !known.contains(&&*request.name) {
            let why = format!("there is no tool {:?}; tools: {}", request.name, known.join(", "));
            return Err(ErrorData::invalid_params(why, None));
        }
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let result = match self.0.call_tool(&request.name, arguments).await {
            Ok(value) => CallToolResult::structured(value),
            Err(RequestError::NotFound(why) | RequestError::Refused(why)) => {
                CallToolResult::error(vec![ContentBlock::text(why)])
            }
        };
        Ok(result.into())
    }

    /// This server has no prompts at all, so the method is unknown instead of returning an empty list.
    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(unknown_method(ListPromptsRequestMethod::VALUE))
    }

    async fn get_prompt(
        &self,
        _request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        Err(unknown_method(GetPromptRequestMethod::VALUE))
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(unknown_method(&request.method))
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (entries, next) =
            self.0.list_resources(request.and_then(|request| request.cursor)).await.map_err(error_data)?;
        let resource = |entry: ResourceEntry| {
            let mut resource = Resource::new(entry.uri, entry.title);
            resource.mime_type = Some(entry.media_type.into());
            resource
        };
        let mut listed = ListResourcesResult::with_all_items(entries.into_iter().map(resource).collect());
        listed.next_cursor = next;
        (listed.ttl_ms, listed.cache_scope) = (Some(CACHE_TTL_MS), Some(CacheScope::Private));
        Ok(listed)
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let templates =
            self.0.resource_templates().into_iter().map(|(template, name)| ResourceTemplate::new(template, name));
        let mut listed = ListResourceTemplatesResult::with_all_items(templates.collect());
        (listed.ttl_ms, listed.cache_scope) = (Some(CACHE_TTL_MS), Some(CacheScope::Private));
        Ok(listed)
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let modern = context.protocol_version() == Some(rmcp::model::ProtocolVersion::V_2026_07_28);
        match self.0.read_resource(&request.uri).await {
            Ok((media_type, text)) => {
                let contents = ResourceContents::text(text, request.uri).with_mime_type(media_type);
                let result = ReadResourceResult::new(vec![contents]);
                Ok(result.with_ttl_ms(CACHE_TTL_MS).with_cache_scope(CacheScope::Private).into())
            }
            // The newer protocol version has no error code for this.
            Err(RequestError::NotFound(why)) if !modern => Err(ErrorData::resource_not_found(why, None)),
            Err(why) => Err(error_data(why)),
        }
    }
}

fn error_data(error: RequestError) -> ErrorData {
    match error {
        RequestError::NotFound(why) | RequestError::Refused(why) => ErrorData::invalid_params(why, None),
    }
}

fn tool(definition: ToolDefinition) -> Tool {
    let schema = definition.schema.as_object().cloned().unwrap_or_default();
    let mut hints = ToolAnnotations::new();
    hints.read_only_hint = Some(definition.class == RepeatSafety::ReadOnly);
    hints.idempotent_hint = Some(definition.class != RepeatSafety::Once);
    hints.destructive_hint = Some(definition.destructive);
    hints.open_world_hint = Some(false);
    Tool::new(definition.name, definition.description, Arc::new(schema)).with_annotations(hints)
}
