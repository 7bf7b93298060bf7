// A web app that signs users in with Postern, shows their name and mail address, and signs them out.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"os"
	"sync"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

const home = "http://localhost:8080/"

var (
	issuer   = cmp.Or(os.Getenv("ISSUER"), "http://localhost:3000")
	provider *oidc.Provider
	config   oauth2.Config
	// By the cookie. Keep them in a database to have several processes, or to restart without signing users out.
	sessions sync.Map
)

type session struct {
	state, nonce, verifier string // of a sign-in that isn't complete
	user                   map[string]any
	idToken                string
}

func main() {
	log.SetFlags(0)
	secret := os.Getenv("MY_APP_SECRET")
	if secret == "" {
		log.Fatal(`Set MY_APP_SECRET to the secret that "./postern client secret" printed.`)
	}
	var err error
	if provider, err = oidc.NewProvider(context.Background(), issuer); err != nil {
		log.Fatalf("Postern doesn't answer at %s. Is it running? (%v)", issuer, err)
	}
	config = oauth2.Config{
		ClientID:     "my-app",
		ClientSecret: secret,
		Endpoint:     provider.Endpoint(),
		RedirectURL:  home + "callback",
		Scopes:       []string{oidc.ScopeOpenID, "email", "profile"},
	}

	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if find(r).user == nil {
			fmt.Fprint(w, `<a href="/login">Sign in</a>`)
		} else {
			fmt.Fprint(w, `<a href="/me">My name and mail</a> <a href="/logout">Sign out</a>`)
		}
	})
	http.HandleFunc("GET /login", func(w http.ResponseWriter, r *http.Request) {
		s := session{state: rand.Text(), nonce: rand.Text(), verifier: oauth2.GenerateVerifier()}
		save(w, r, s)
		http.Redirect(w, r, config.AuthCodeURL(s.state, oidc.Nonce(s.nonce), oauth2.S256ChallengeOption(s.verifier)), http.StatusFound)
	})
	http.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		s, err := signIn(r)
		if err != nil {
			log.Print(err)
			http.Error(w, explain(err), http.StatusInternalServerError)
			return
		}
		save(w, r, s)
		http.Redirect(w, r, "/", http.StatusFound)
	})
	http.HandleFunc("GET /me", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(find(r).user)
	})
	http.HandleFunc("GET /logout", func(w http.ResponseWriter, r *http.Request) {
		query := url.Values{"post_logout_redirect_uri": {home}, "id_token_hint": {find(r).idToken}}
		save(w, r, session{})
		var endpoints struct {
			EndSession string `json:"end_session_endpoint"`
		}
		provider.Claims(&endpoints)
		http.Redirect(w, r, endpoints.EndSession+"?"+query.Encode(), http.StatusFound)
	})
	fmt.Println("Open " + home)
	log.Fatal(http.ListenAndServe("localhost:8080", nil))
}

func signIn(r *http.Request) (session, error) {
	ctx, s, query := r.Context(), find(r), r.URL.Query()
	if s.state == "" || query.Get("state") != s.state {
		return s, errors.New("start again at " + home)
	}
	if code := query.Get("error"); code != "" {
		return s, &oauth2.RetrieveError{ErrorCode: code, ErrorDescription: query.Get("error_description")}
	}
	token, err := config.Exchange(ctx, query.Get("code"), oauth2.VerifierOption(s.verifier))
	if err != nil {
		return s, err
	}
	raw, _ := token.Extra("id_token").(string)
	idToken, err := provider.Verifier(&oidc.Config{ClientID: config.ClientID}).Verify(ctx, raw)
	if err != nil {
		return s, err
	}
	if idToken.Nonce != s.nonce {
		return s, errors.New("the ID token belongs to another sign-in")
	}
	// Name and email are at userinfo. The ID token has only Subject, the stable ID of the user.
	info, err := provider.UserInfo(ctx, config.TokenSource(ctx, token))
	if err != nil {
		return s, err
	}
	user := map[string]any{}
	return session{user: user, idToken: raw}, info.Claims(&user)
}

func explain(err error) string {
	var rejected *oauth2.RetrieveError
	var absent *url.Error
	if errors.As(err, &rejected) {
		switch rejected.ErrorCode {
		case "invalid_client":
			return "Postern rejected the client secret: compare MY_APP_SECRET with client_secrets of my-app."
		case "access_denied":
			return "You canceled the sign-in, or you may not use this app."
		}
		return "The sign-in failed: " + cmp.Or(rejected.ErrorDescription, rejected.ErrorCode) + "."
	}
	if errors.As(err, &absent) {
		return "Postern doesn't answer at " + issuer + ". Is it running?"
	}
	return "The sign-in failed: " + err.Error() + "."
}

func find(r *http.Request) session {
	if cookie, err := r.Cookie("session"); err == nil {
		if s, ok := sessions.Load(cookie.Value); ok {
			return s.(session)
		}
	}
	return session{}
}

// A new ID each time, so that nobody can plant one beforehand.
func save(w http.ResponseWriter, r *http.Request, s session) {
	if cookie, err := r.Cookie("session"); err == nil {
		sessions.Delete(cookie.Value)
	}
	id := rand.Text()
	sessions.Store(id, s)
	http.SetCookie(w, &http.Cookie{Name: "session", Value: id, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode})
}
