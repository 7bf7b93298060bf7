// The Kubernetes API server's own authenticator for ID tokens, and the sign-in that kubectl's helpers do. Speaks with run.ts
// by lines, as report.ts does.
package main

import (
	"bufio"
	"context"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"golang.org/x/oauth2"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/plugin/pkg/authenticator/token/oidc"
)

var ctx = context.Background()

func ok(condition bool, what string, seen any) {
	if !condition {
		fmt.Fprintf(os.Stderr, "%s: %v\n", what, seen)
		os.Exit(1)
	}
	fmt.Println("ok", what)
}

func must(err error, what string) {
	if err != nil {
		ok(false, what, err)
	}
}

func visit(address string) url.Values {
	fmt.Println("visit", address)
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	must(err, "visit")
	callback, err := url.Parse(strings.TrimSpace(line))
	must(err, "callback")
	return callback.Query()
}

// As the flags --oidc-issuer-url, --oidc-client-id, --oidc-username-claim, --oidc-groups-claim and their prefixes have it.
func newAuthenticator(audience, usernameClaim string) authenticator.Token {
	prefix := "postern:"
	made, err := oidc.New(ctx, oidc.Options{JWTAuthenticator: apiserver.JWTAuthenticator{
		Issuer: apiserver.Issuer{URL: os.Getenv("ISSUER"), Audiences: []string{audience}},
		ClaimMappings: apiserver.ClaimMappings{
			Username: apiserver.PrefixedClaimOrExpression{Claim: usernameClaim, Prefix: &prefix},
			Groups:   apiserver.PrefixedClaimOrExpression{Claim: "groups", Prefix: &prefix},
		},
	}})
	must(err, "authenticator")
	for made.HealthCheck() != nil {
		time.Sleep(20 * time.Millisecond)
	}
	return made
}

func nameIn(authenticate authenticator.Token, token string) string {
	response, found, err := authenticate.AuthenticateToken(ctx, token)
	if err != nil || !found {
		return fmt.Sprint("refused: ", err)
	}
	return response.User.GetName()
}

func groupsIn(authenticate authenticator.Token, token string) string {
	response, found, err := authenticate.AuthenticateToken(ctx, token)
	if err != nil || !found {
		return fmt.Sprint("refused: ", err)
	}
	return strings.Join(response.User.GetGroups(), " ")
}

func main() {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/apiserver" {
			fmt.Println("version", module.Version+", "+info.GoVersion)
		}
	}
	issuer, clientID := os.Getenv("ISSUER"), os.Getenv("CLIENT_ID")
	helper := oauth2.Config{
		ClientID:    clientID,
		RedirectURL: os.Getenv("APP"),
		Scopes:      []string{"openid", "email", "groups", "offline_access"},
		Endpoint: oauth2.Endpoint{
			AuthURL:   issuer + "/oauth/authorize",
			TokenURL:  issuer + "/oauth/token",
			AuthStyle: oauth2.AuthStyleInParams,
		},
	}
	verifier := oauth2.GenerateVerifier()
	answer := visit(helper.AuthCodeURL("state",
		oauth2.S256ChallengeOption(verifier), oauth2.SetAuthURLParam("prompt", "consent")))
	token, err := helper.Exchange(ctx, answer.Get("code"), oauth2.VerifierOption(verifier))
	must(err, "exchange")
	idToken, _ := token.Extra("id_token").(string)

	bySub, byEmail := newAuthenticator(clientID, "sub"), newAuthenticator(clientID, "email")
	name := nameIn(bySub, idToken)
	ok(name == "postern:usr_fixture_person_ida", "verifies an ID token, user by sub", name)
	name = nameIn(byEmail, idToken)
	ok(name == "postern:ida@example.com", "user by verified email", name)

	groups := groupsIn(bySub, idToken)
	ok(groups == "postern:admins postern:staff", "groups", groups)

	parts := strings.Split(idToken, ".")
	first := "A"
	if strings.HasPrefix(parts[2], first) {
		first = "B"
	}
	forged := strings.Join([]string{parts[0], parts[1], first + parts[2][1:]}, ".")
	name = nameIn(bySub, forged)
	ok(strings.HasPrefix(name, "refused"), "refuses a forged one", name)
	name = nameIn(bySub, token.AccessToken)
	ok(strings.HasPrefix(name, "refused"), "refuses an access token", name)
	name = nameIn(newAuthenticator("another", "sub"), idToken)
	ok(strings.HasPrefix(name, "refused"), "refuses another audience", name)

	// Without an access token the source must refresh; the helper keeps the ID token that comes with it.
	fresh, err := helper.TokenSource(ctx, &oauth2.Token{RefreshToken: token.RefreshToken}).Token()
	must(err, "refresh")
	idToken, _ = fresh.Extra("id_token").(string)
	name = nameIn(byEmail, idToken)
	ok(name == "postern:ida@example.com", "verifies the ID token of a refresh", name)
	groups = groupsIn(byEmail, idToken)
	ok(groups == "postern:admins postern:staff", "groups in that", groups)
}
