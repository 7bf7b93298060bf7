// Vault's own auth method "oidc" (also "jwt"), which is a Go module, without a Vault around it. Speaks with run.ts by lines,
// as report.ts does.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"strings"

	"github.com/hashicorp/go-hclog"
	jwtauth "github.com/hashicorp/vault-plugin-auth-jwt"
	"github.com/hashicorp/vault/sdk/logical"
)

var (
	ctx     = context.Background()
	storage = &logical.InmemStorage{}
)

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

func machineToken(issuer, secret string) string {
	form := url.Values{"grant_type": {"client_credentials"}, "scope": {"reports.read"}}
	request, err := http.NewRequest("POST", issuer+"/oauth/token", strings.NewReader(form.Encode()))
	must(err, "request")
	request.SetBasicAuth("verifiers", url.QueryEscape(secret))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	response, err := http.DefaultClient.Do(request)
	must(err, "token")
	defer response.Body.Close()
	var answer struct {
		AccessToken string `json:"access_token"`
	}
	must(json.NewDecoder(response.Body).Decode(&answer), "token")
	return answer.AccessToken
}

// newMount is `vault auth enable` and `vault write auth/MOUNT/config`.
func newMount(config map[string]any) logical.Backend {
	mount, err := jwtauth.Factory(ctx, &logical.BackendConfig{
		Logger:      hclog.NewNullLogger(),
		System:      &logical.StaticSystemView{DefaultLeaseTTLVal: 3600e9, MaxLeaseTTLVal: 3600e9},
		StorageView: storage,
	})
	must(err, "mount")
	must(mount.Initialize(ctx, &logical.InitializationRequest{Storage: storage}), "mount")
	do(mount, logical.UpdateOperation, "config", config)
	return mount
}

// do ends the program on any refusal.
func do(mount logical.Backend, operation logical.Operation, path string, data map[string]any) *logical.Response {
	response, err := try(mount, operation, path, data)
	must(err, path)
	return response
}

func try(mount logical.Backend, operation logical.Operation, path string, data map[string]any) (*logical.Response, error) {
	request := &logical.Request{
		Operation: operation, Path: path, Data: data, Storage: storage,
		Connection: &logical.Connection{RemoteAddr: "127.0.0.1"},
	}
	response, err := mount.HandleRequest(ctx, request)
	if err == nil && response != nil {
		err = response.Error()
	}
	return response, err
}

func main() {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/hashicorp/vault-plugin-auth-jwt" {
			fmt.Println("version", "vault-plugin-auth-jwt "+module.Version)
		}
	}
	issuer, secret := os.Getenv("ISSUER"), os.Getenv("CLIENT_SECRET")
	certificate, err := os.ReadFile(os.Getenv("SSL_CERT_FILE"))
	must(err, "certificate")

	callback := os.Getenv("APP") + "/ui/vault/auth/oidc/oidc/callback"
	users := newMount(map[string]any{
		"oidc_discovery_url":    issuer,
		"oidc_discovery_ca_pem": string(certificate),
		"oidc_client_id":        os.Getenv("CLIENT_ID"),
		"oidc_client_secret":    secret,
		"default_role":          "user",
	})
	do(users, logical.CreateOperation, "role/user", map[string]any{
		"role_type":             "oidc",
		"user_claim":            "sub",
		"oidc_scopes":           "email,profile",
		"claim_mappings":        map[string]string{"email": "email", "preferred_username": "name"},
		"allowed_redirect_uris": callback,
		"token_policies":        "default",
	})
	start := do(users, logical.UpdateOperation, "oidc/auth_url", map[string]any{"redirect_uri": callback, "client_nonce": "nonce"})
	address, _ := start.Data["auth_url"].(string)
	ok(address != "", "discovery", start)
	answer := visit(address)
	done := do(users, logical.ReadOperation, "oidc/callback", map[string]any{
		"state": answer.Get("state"), "code": answer.Get("code"), "client_nonce": "nonce",
	})
	ok(done.Auth.Alias.Name == "usr_fixture_person_ida", "sign-in with PKCE, entity by sub", done.Auth)
	ok(done.Auth.Alias.Metadata["email"] == "ida@example.com", "email by userinfo", done.Auth.Alias.Metadata)

	services := newMount(map[string]any{"oidc_discovery_url": issuer, "oidc_discovery_ca_pem": string(certificate)})
	for role, audience := range map[string]string{"service": os.Getenv("API"), "other": "https://other.example"} {
		do(services, logical.CreateOperation, "role/"+role, map[string]any{
			"role_type":       "jwt",
			"user_claim":      "client_id",
			"bound_audiences": audience,
			"bound_claims":    map[string]any{"scope": "reports.read"},
		})
	}
	login := func(role, token string) (*logical.Response, error) {
		return try(services, logical.UpdateOperation, "login", map[string]any{"role": role, "jwt": token})
	}
	token := machineToken(issuer, secret)
	done, err = login("service", token)
	must(err, "login with an access token")
	ok(done.Auth.Alias.Name == "verifiers", "login with a service's access token", done.Auth)
	parts := strings.Split(token, ".")
	first := "A"
	if strings.HasPrefix(parts[2], first) {
		first = "B"
	}
	_, err = login("service", strings.Join([]string{parts[0], parts[1], first + parts[2][1:]}, "."))
	ok(err != nil, "refuses a forged one", "taken")
	_, err = login("other", token)
	ok(err != nil, "refuses another audience", "taken")
}
