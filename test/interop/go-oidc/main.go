// go-oidc with golang.org/x/oauth2: the authorization-code flow of a web app. Speaks with run.ts by lines, as report.ts
// does.
package main

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

func must(err error, what string) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
		os.Exit(1)
	}
}

func ok(condition bool, what string, seen any) {
	if !condition {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, seen)
		os.Exit(1)
	}
	fmt.Println("ok", what)
}

func visit(address string) url.Values {
	fmt.Println("visit", address)
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	must(err, "visit")
	callback, err := url.Parse(strings.TrimSpace(line))
	must(err, "callback")
	return callback.Query()
}

func random() string {
	bytes := make([]byte, 32)
	_, err := rand.Read(bytes)
	must(err, "random")
	return base64.RawURLEncoding.EncodeToString(bytes)
}

// One ID token a line, all by one verifier: it keeps its key set until it meets a kid that it doesn't know.
func verifyLines(ctx context.Context, provider *oidc.Provider) {
	verifier := provider.Verifier(&oidc.Config{SkipClientIDCheck: true})
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		_, err := verifier.Verify(ctx, lines.Text())
		fmt.Println("verified", err)
	}
}

func main() {
	if info, found := debug.ReadBuildInfo(); found {
		for _, module := range info.Deps {
			if module.Path == "github.com/coreos/go-oidc/v3" {
				fmt.Println("version", module.Version+", "+info.GoVersion)
			}
		}
	}
	ctx := context.Background()
	clientID := os.Getenv("CLIENT_ID")
	provider, err := oidc.NewProvider(ctx, os.Getenv("ISSUER"))
	must(err, "discovery")
	if len(os.Args) > 1 && os.Args[1] == "verify" {
		verifyLines(ctx, provider)
		return
	}
	ok(true, "discovery", nil)

	config := oauth2.Config{
		ClientID:     clientID,
		ClientSecret: os.Getenv("CLIENT_SECRET"),
		Endpoint:     provider.Endpoint(),
		RedirectURL:  os.Getenv("APP") + "/callback",
		Scopes:       []string{oidc.ScopeOpenID, "email", "profile", oidc.ScopeOfflineAccess},
	}
	state, nonce, verifier := random(), random(), random()
	challenge := sha256.Sum256([]byte(verifier))
	answer := visit(config.AuthCodeURL(state,
		oidc.Nonce(nonce),
		oauth2.SetAuthURLParam("prompt", "consent"),
		oauth2.SetAuthURLParam("code_challenge", base64.RawURLEncoding.EncodeToString(challenge[:])),
		oauth2.SetAuthURLParam("code_challenge_method", "S256"),
	))
	ok(answer.Get("state") == state, "state", answer)
	token, err := config.Exchange(ctx, answer.Get("code"), oauth2.SetAuthURLParam("code_verifier", verifier))
	must(err, "exchange")

	raw, _ := token.Extra("id_token").(string)
	idToken, err := provider.Verifier(&oidc.Config{ClientID: clientID}).Verify(ctx, raw)
	must(err, "ID token")
	subject := os.Getenv("SUBJECT")
	if subject == "" {
		subject = "usr_fixture_person_ida"
	}
	ok(idToken.Nonce == nonce && strings.HasPrefix(idToken.Subject, subject), "sign-in with PKCE, verified ID token", idToken)

	source := config.TokenSource(ctx, token)
	info, err := provider.UserInfo(ctx, source)
	must(err, "userinfo")
	ok(info.Email == "ida@example.com", "userinfo", info)

	// Without an access token the source must refresh.
	fresh, err := config.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	must(err, "refresh")
	ok(fresh.RefreshToken != token.RefreshToken, "refresh", fresh)
}
