//! A route as a value: method, path, the access it needs, what it takes and gives, and its handler. The router, the
//! API document and the table of access tests are all made from these; nothing is served that is not one.

use super::AppState;
use super::auth::{self, RequestSource};
use super::caller::BodySchema;
use super::query::QueryParameters;
use super::records;
use super::schema::{Schema, has_secret};
use axum::handler::Handler;
use axum::http::Method;
use axum::middleware::from_fn_with_state;
use axum::routing::{MethodFilter, MethodRouter, on};
use axum::{Extension, Router};
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a token must allow. Each allows what stands before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// Anybody, without a token.
    Public,
    /// Anybody on the server's own machine; others as for `Read`.
    Local,
    Read,
    /// Start, steer and end runs; change the workspace.
    Run,
    /// Other people's tokens, and who there is.
    Admin,
}

impl Access {
    pub fn name(self) -> &'static str {
        match self {
            Access::Public => "public",
            Access::Local => "local",
            Access::Read => "read",
            Access::Run => "run",
            Access::Admin => "admin",
        }
    }
}

/// How an answer's body looks.
#[derive(Clone, Debug)]
pub enum Body {
    Json(Schema),
    /// Another media type.
    Text(&'static str),
    Nothing,
}

pub struct Route {
    pub method: Method,
    pub path: &'static str,
    pub access: Access,
    pub summary: &'static str,
    pub query: Vec<(&'static str, Schema)>,
    pub headers: Vec<(&'static str, Schema)>,
    pub takes: Option<Schema>,
    pub gives: Vec<(u16, Body)>,
    /// Costs more than an answer: see `auth::RouteAuth`.
    paced: bool,
    /// About the person who asks, not about any project of theirs.
    pub personal: bool,
    /// See `auth::RouteAuth`.
    pub for_agents: bool,
    /// Says no in a page of its own, too.
    pub refuses_in_pages: bool,
    refuses: BTreeSet<u16>,
    handler: MethodRouter<Arc<AppState>>,
}

impl Route {
    pub fn get<H: Handler<T, Arc<AppState>>, T: 'static>(
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Route {
        Route::new(MethodFilter::GET, Method::GET, path, access, summary, handler)
    }

    pub fn post<H: Handler<T, Arc<AppState>>, T: 'static>(
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Route {
        Route::new(MethodFilter::POST, Method::POST, path, access, summary, handler)
    }

    pub fn patch<H: Handler<T, Arc<AppState>>, T: 'static>(
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Route {
        Route::new(MethodFilter::PATCH, Method::PATCH, path, access, summary, handler)
    }

    pub fn delete<H: Handler<T, Arc<AppState>>, T: 'static>(
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Route {
        Route::new(MethodFilter::DELETE, Method::DELETE, path, access, summary, handler)
    }

    fn new<H: Handler<T, Arc<AppState>>, T: 'static>(
        filter: MethodFilter,
        method: Method,
        path: &'static str,
        access: Access,
        summary: &'static str,
        handler: H,
    ) -> Route {
        Route {
            method,
            path,
            access,
            summary,
            query: Vec::new(),
            headers: Vec::new(),
            takes: None,
            gives: Vec::new(),
            paced: false,
            personal: false,
            for_agents: false,
            refuses_in_pages: false,
            refuses: BTreeSet::new(),
            handler: on(filter, handler),
        }
    }

    /// A parameter of the query string; all are optional but those whose shape says otherwise to the handler.
    pub fn asks(mut self, name: &'static str, schema: Schema) -> Route {
        self.query.push((name, schema));
        self
    }

    pub fn header(mut self, name: &'static str, schema: Schema) -> Route {
        self.headers.push((name, schema));
        self
    }

    pub fn takes(mut self, schema: Schema) -> Route {
        self.takes = Some(schema);
        self
    }

    pub fn gives(mut self, status: u16, schema: Schema) -> Route {
        self.gives.push((status, Body::Json(schema)));
        self
    }

    /// An answer that is not JSON, by its media type.
    pub fn gives_text(mut self, status: u16, media_type: &'static str) -> Route {
        self.gives.push((status, Body::Text(media_type)));
        self
    }

    /// An answer without a body.
    pub fn gives_nothing(mut self, status: u16) -> Route {
        self.gives.push((status, Body::Nothing));
        self
    }

    pub fn paced(mut self) -> Route {
        self.paced = true;
        self
    }

    /// Refused to a token that is for some projects only.
    pub fn personal(mut self) -> Route {
        self.personal = true;
        self
    }

    /// What is wrong is said as a page, in markdown or as JSON, like everything else there.
    pub fn refuses_in_pages(mut self) -> Route {
        self.refuses_in_pages = true;
        self
    }

    /// Subagents may ask for this change; the handler judges what they were granted.
    pub fn for_agents(mut self) -> Route {
        self.for_agents = true;
        self
    }

    /// Its answer shows a secret, as its shape says.
    fn gives_secret(&self) -> bool {
        self.gives.iter().any(|(_, body)| matches!(body, Body::Json(schema) if has_secret(schema)))
    }

    /// Problems beyond those that follow from the route itself.
    pub fn refuses<const N: usize>(mut self, statuses: [u16; N]) -> Route {
        self.refuses.extend(statuses);
        self
    }

    /// Gives the run as it stands afterwards, or refuses because of where it stands.
    pub fn gives_run(self) -> Route {
        self.gives(200, records::run()).refuses([409])
    }

    /// Every status a client may meet here that is a problem.
    pub fn refusals(&self) -> BTreeSet<u16> {
        let mut all = self.refuses.clone();
        all.extend([421, 429, 503]);
        if self.access != Access::Public {
            all.extend([401, 403]);
        }
        if self.path.contains('{') {
            all.insert(404);
        }
        if !self.query.is_empty() {
            all.extend([400, 422]);
        }
        if self.takes.is_some() {
            all.extend([400, 413, 415, 422]);
        }
        if self.method != Method::GET {
            all.extend([403, 408, 409, 422, 507]);
        }
        all
    }
}

/// The router of these routes. Each is authenticated before its handler runs.
pub fn serve(routes: Vec<Route>, app: &Arc<AppState>, source: RequestSource) -> Router<Arc<AppState>> {
    routes.into_iter().fold(Router::new(), |router, route| {
        let guard = auth::RouteAuth {
            app: app.clone(),
            source,
            access: route.access,
            paced: route.paced,
            personal: route.personal,
            for_agents: route.for_agents,
            gives_secret: route.gives_secret(),
        };
        let mut handler = route.handler.route_layer(Extension(QueryParameters(route.query.into())));
        // Pages judge what they take by themselves, and say what is wrong as a page.
        if let Some(schema) = route.takes.filter(|_| !route.refuses_in_pages) {
            handler = handler.route_layer(Extension(BodySchema(Arc::new(schema))));
        }
        router.route(route.path, handler.route_layer(from_fn_with_state(guard, auth::admit)))
    })
}
