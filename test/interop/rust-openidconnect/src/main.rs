//! The crate openidconnect: the authorization-code flow of a web app. Speaks with run.ts by lines, as report.ts does.
use openidconnect::core::{CoreAuthenticationFlow, CoreClient, CoreProviderMetadata, CoreUserInfoClaims};
use openidconnect::reqwest::{blocking, redirect, Url};
use openidconnect::{
    AuthorizationCode, ClientId, ClientSecret, CsrfToken, IssuerUrl, Nonce, OAuth2TokenResponse, PkceCodeChallenge,
    RedirectUrl, Scope, TokenResponse,
};
use std::{collections::HashMap, env, error::Error, io, process};

fn ok(condition: bool, what: &str, seen: impl std::fmt::Debug) {
    if !condition {
        eprintln!("{what}: {seen:?}");
        process::exit(1);
    }
    println!("ok {what}");
}

fn visit(address: Url) -> Result<HashMap<String, String>, Box<dyn Error>> {
    println!("visit {address}");
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(Url::parse(line.trim())?.query_pairs().into_owned().collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    let pinned = include_str!("../Cargo.toml").split("version = \"=").nth(1);
    println!("version {}", pinned.and_then(|rest| rest.split('"').next()).unwrap_or_default());
    let http = blocking::ClientBuilder::new()
        .redirect(redirect::Policy::none())
        // For the certificate of this test, which is its own authority, and rustls refuses that; leave it out.
        .danger_accept_invalid_certs(true)
        .build()?;
    let provider = CoreProviderMetadata::discover(&IssuerUrl::new(env::var("ISSUER")?)?, &http)?;
    ok(true, "discovery", ());
    let client = CoreClient::from_provider_metadata(
        provider,
        ClientId::new(env::var("CLIENT_ID")?),
        Some(ClientSecret::new(env::var("CLIENT_SECRET")?)),
    )
    .set_redirect_uri(RedirectUrl::new(format!("{}/callback", env::var("APP")?))?);

    let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
    let (address, state, nonce) = client
        .authorize_url(CoreAuthenticationFlow::AuthorizationCode, CsrfToken::new_random, Nonce::new_random)
        .add_scopes(["email", "profile", "offline_access"].map(|scope| Scope::new(scope.into())))
        .add_extra_param("prompt", "consent")
        .set_pkce_challenge(challenge)
        .url();
    let answer = visit(address)?;
    ok(answer.get("state") == Some(state.secret()), "state", &answer);
    let token = client
        .exchange_code(AuthorizationCode::new(answer["code"].clone()))?
        .set_pkce_verifier(verifier)
        .request(&http)?;
    let claims = token.id_token().ok_or("no ID token")?.claims(&client.id_token_verifier(), &nonce)?;
    ok(claims.subject().as_str() == "usr_fixture_person_ida", "sign-in with PKCE, verified ID token", claims);

    let subject = Some(claims.subject().clone());
    let user: CoreUserInfoClaims = client.user_info(token.access_token().to_owned(), subject)?.request(&http)?;
    ok(user.email().is_some_and(|email| email.as_str() == "ida@example.com"), "userinfo", &user);

    let before = token.refresh_token().ok_or("no refresh token")?;
    let after = client.exchange_refresh_token(before)?.request(&http)?;
    let is_new = after.refresh_token().is_some_and(|refresh| refresh.secret() != before.secret());
    ok(is_new, "refresh", &after);
    Ok(())
}
