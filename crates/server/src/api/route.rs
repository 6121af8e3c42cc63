//! A route as a value: method, path, required access, schemas and handler. The router, the API document and the access tests
//! are all made from these values, so no route can be served without being documented and tested.

use super::AppState;
use super::auth::{self, RequestSource};
use super::caller::BodySchema;
use super::query::{MAX_PAGE, QueryParameters};
use super::schema::{Schema, has_secret, page, whole};
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Extension, Router};
use futures::future::BoxFuture;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a token must allow. Each level includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Access {
    /// Anybody, without a token.
    Public,
    /// Anybody on the server's own machine; others as for `Read`.
    Local,
    Read,
    /// Starts, steers and ends runs; changes the workspace.
    Run,
    /// Manages people, and tokens of others.
    Admin,
}

impl Access {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Access::Public => "public",
            Access::Local => "local",
            Access::Read => "read",
            Access::Run => "run",
            Access::Admin => "admin",
        }
    }
}

/// The body of a response.
#[derive(Clone, Debug)]
pub(super) enum Body {
    Json(Schema),
    /// The run object. Many routes return it, and its schema is large: only the document makes it.
    Run,
    /// Another media type.
    Text(&'static str),
    Nothing,
}

/// What is asked of a caller before the handler of a route runs.
#[derive(Clone, Copy)]
pub(crate) struct RouteRules {
    pub access: Access,
    /// Rate-limited by actor: what the request starts costs more than its response.
    pub rate_limited: bool,
    /// About the person, not about one of their projects: refused to bound tokens.
    pub personal: bool,
    /// A change that subagents may ask for: the handler checks what they were granted.
    pub for_agents: bool,
    /// The response shows a secret, so no copy is kept for a repeated request.
    pub returns_secret: bool,
}

pub(crate) struct Route {
    pub method: Method,
    pub path: &'static str,
    pub rules: RouteRules,
    pub summary: &'static str,
    pub query: Vec<(&'static str, Schema)>,
    pub headers: Vec<(&'static str, Schema)>,
    pub body: Option<Schema>,
    pub returns: Vec<(u16, Body)>,
    /// Errors are pages too, in markdown or JSON.
    pub errors_as_pages: bool,
    errors: BTreeSet<u16>,
    handler: MethodRouter<Arc<AppState>>,
}

/// A handler of any signature. Its type is forgotten here, so that what axum wraps around a handler is compiled once and not for
/// every handler.
#[derive(Clone)]
struct AnyHandler(Arc<dyn Fn(Request, Arc<AppState>) -> BoxFuture<'static, Response> + Send + Sync>);

impl Handler<(), Arc<AppState>> for AnyHandler {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, app: Arc<AppState>) -> Self::Future {
        (self.0)(request, app)
    }
}

/// A constructor for each method. `new` is not generic, so that it is compiled once too.
macro_rules! verbs {
    ($($name:ident: $method:ident),*) => {
        $(pub(super) fn $name<H: Handler<T, Arc<AppState>, Future = BoxFuture<'static, Response>>, T: 'static>(
            path: &'static str,
            access: Access,
            summary: &'static str,
            handler: H,
        ) -> Route {
            let handler = AnyHandler(Arc::new(move |request, app| handler.clone().call(request, app)));
            Route::new(Method::$method, path, access, summary, on(MethodFilter::$method, handler))
        })*
    };
}

impl Route {
    verbs! { get: GET, post: POST, patch: PATCH, delete: DELETE }

    fn new(
        method: Method,
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: MethodRouter<Arc<AppState>>,
    ) -> Route {
        let rules =
            RouteRules { access, rate_limited: false, personal: false, for_agents: false, returns_secret: false };
        Route {
            method,
            path,
            rules,
            summary,
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            returns: Vec::new(),
            errors_as_pages: false,
            errors: BTreeSet::new(),
            handler,
        }
    }

    /// A parameter of the query string. All are optional as far as the document says; a handler may insist.
    pub(super) fn query(mut self, name: &'static str, schema: Schema) -> Route {
        self.query.push((name, schema));
        self
    }

    pub(super) fn header(mut self, name: &'static str, schema: Schema) -> Route {
        self.headers.push((name, schema));
        self
    }

    pub(super) fn body(mut self, schema: Schema) -> Route {
        self.body = Some(schema);
        self
    }

    pub(super) fn returns(mut self, status: u16, schema: Schema) -> Route {
        self.rules.returns_secret |= has_secret(&schema);
        self.returns.push((status, Body::Json(schema)));
        self
    }

    /// A page of a list: asks for `cursor` and `limit`, and returns items with the cursor of the next page.
    pub(super) fn returns_page(self, cursor: Schema, of: Schema) -> Route {
        self.query("cursor", cursor).query("limit", whole(1, MAX_PAGE as i64)).returns(200, page(of))
    }

    /// A response that is not JSON, by its media type.
    pub(super) fn returns_text(mut self, status: u16, media_type: &'static str) -> Route {
        self.returns.push((status, Body::Text(media_type)));
        self
    }

    /// A response without a body.
    pub(super) fn returns_empty(mut self, status: u16) -> Route {
        self.returns.push((status, Body::Nothing));
        self
    }

    pub(super) fn rate_limited(mut self) -> Route {
        self.rules.rate_limited = true;
        self
    }

    /// Refused to bound tokens.
    pub(super) fn personal(mut self) -> Route {
        self.rules.personal = true;
        self
    }

    /// Errors are pages too, in markdown or JSON.
    pub(super) fn errors_as_pages(mut self) -> Route {
        self.errors_as_pages = true;
        self
    }

    /// Subagents may ask for this change; the handler checks what they were granted.
    pub(super) fn for_agents(mut self) -> Route {
        self.rules.for_agents = true;
        self
    }

    /// Statuses of problems beyond those that follow from the rest of the route.
    pub(super) fn errors<const N: usize>(mut self, statuses: [u16; N]) -> Route {
        self.errors.extend(statuses);
        self
    }

    /// Returns the run after the command, or 409 when its status does not allow the command.
    pub(super) fn returns_run(mut self) -> Route {
        self.returns.push((200, Body::Run));
        self.errors([409])
    }

    /// Every status with which this route may answer a problem.
    pub(super) fn all_errors(&self) -> BTreeSet<u16> {
        let mut all = self.errors.clone();
        all.extend([421, 429, 503]);
        if self.rules.access != Access::Public {
            all.extend([401, 403]);
        }
        if self.path.contains('{') {
            all.insert(404);
        }
        if !self.query.is_empty() {
            all.extend([400, 422]);
        }
        if self.body.is_some() {
            all.extend([400, 413, 415, 422]);
        }
        if self.method != Method::GET {
            all.extend([403, 408, 409, 422, 507]);
        }
        all
    }
}

/// The router of these routes. Callers are authenticated before a handler runs.
pub(super) fn serve(routes: Vec<Route>, app: &Arc<AppState>, source: RequestSource) -> Router<Arc<AppState>> {
    routes.into_iter().fold(Router::new(), |router, route| {
        let guard = auth::RouteAuth { app: app.clone(), source, rules: route.rules };
        let mut handler = route.handler.route_layer(Extension(QueryParameters(route.query.into())));
        // Pages check their own parameters, and their errors are pages.
        if let Some(schema) = route.body.filter(|_| !route.errors_as_pages) {
            handler = handler.route_layer(Extension(BodySchema(Arc::new(schema))));
        }
        router.route(route.path, handler.route_layer(from_fn_with_state(guard, auth::admit)))
    })
}
