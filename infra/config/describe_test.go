package config_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tenuto-dev/tenuto/infra/config"
)

type described struct {
	Interval time.Duration `json:"interval" desc:"time between two polls"`
	Limit    struct {
		Rate float64 `json:"rate" desc:"requests per second"`
	} `json:"limit" desc:"how often"`
	Users []struct {
		Name     string `json:"name" desc:"who"`
		Password string `json:"password" secret:"true" desc:"the password"`
	} `json:"users" desc:"who may"`
	Weights map[string]struct {
		Of int `json:"of" desc:"the weight"`
	} `json:"weights" desc:"what weighs what"`
	Token string   `json:"token" secret:"true" desc:"a token"`
	Paths []string `json:"paths" desc:"where"`
}

func TestKeys(t *testing.T) {
	t.Parallel()
	def := described{Interval: time.Minute, Token: "sesame", Paths: []string{"/a", "/b"}}
	def.Limit.Rate = 2.5
	want := []config.Key{
		{Name: "interval", Type: `a duration ("1s", "250ms")`, Default: "1m0s", Doc: "time between two polls"},
		{Name: "limit", Type: "a mapping", Doc: "how often"},
		{Name: "limit.rate", Type: "a number", Default: "2.5", Doc: "requests per second"},
		{Name: "users", Type: "a list", Default: "[]", Doc: "who may"},
		{Name: "users[].name", Type: "text", Doc: "who"},
		{Name: "users[].password", Type: "text", Doc: "the password", Secret: true},
		{Name: "weights", Type: "a mapping", Default: "{}", Doc: "what weighs what"},
		{Name: "weights.*.of", Type: "a whole number", Doc: "the weight"},
		{Name: "token", Type: "text", Default: "'***'", Doc: "a token", Secret: true},
		{Name: "paths", Type: "a list", Default: "[/a, /b]", Doc: "where"},
	}
	for _, cfg := range []any{def, &def} {
		got, err := config.Keys(cfg)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v\n got %+v\nwant %+v", err, got, want)
		}
	}
	if _, err := config.Keys("text"); err == nil {
		t.Error("text has keys")
	}
}

func TestVariable(t *testing.T) {
	t.Parallel()
	f := config.NewFlags("x", config.NoEnviron)
	f.Bool("version", false, "")
	f.CommandLineOnly("version")
	if got, none := f.Variable("config-dir"), f.Variable("version"); got != "CONFIG_DIR" || none != "" {
		t.Errorf("got %q and %q", got, none)
	}
}
