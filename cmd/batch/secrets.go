package main

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"batch.example/batch/agent/config"
	"batch.example/batch/docker"
	"batch.example/batch/fault"
	"batch.example/batch/internal/mask"
)

// hideKnown has everything hidden that the process was started with and that
// is secret: variables with telling names, and the user's docker logins.
func (a *app) hideKnown(environ []string) {
	a.mask.Add(mask.Secrets(environ)...)
	a.mask.Add(dockerLogins(docker.FromEnv(a.getenv, a.home).ConfigDir)...)
}

// hideAsked has everything hidden that is secret in a configuration, and what
// its patterns and those of --mask match.
func (a *app) hideAsked(cfg *config.Config, patterns []string) error {
	a.mask.Add(cfg.Secrets()...)
	for _, p := range append(cfg.Run.MaskPatterns, patterns...) {
		re, err := regexp.Compile(p)
		if err != nil {
			return fault.New(fault.Usage, "reading --mask", err).WithHint("give a regular expression of Go's, such as 'corp-[0-9a-f]{32}'")
		}
		a.mask.AddPatterns(re)
	}
	return nil
}

// dockerLogins returns the passwords and tokens in the docker command's own
// config.json. A file that cannot be read has none for us either.
func dockerLogins(dir string) []mask.Secret {
	var file struct {
		Auths map[string]struct {
			Auth          string `json:"auth"`
			Password      string `json:"password"`
			IdentityToken string `json:"identitytoken"`
			RegistryToken string `json:"registrytoken"`
		} `json:"auths"`
	}
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if dir == "" || err != nil || json.Unmarshal(data, &file) != nil {
		return nil
	}
	var found []mask.Secret
	for registry, login := range file.Auths {
		decoded, _ := base64.StdEncoding.DecodeString(login.Auth) // what is no base64 is no login
		_, password, _ := strings.Cut(strings.TrimRight(string(decoded), "\x00"), ":")
		for _, v := range []string{login.Auth, password, login.Password, login.IdentityToken, login.RegistryToken} {
			found = append(found, mask.Secret{Name: "login for " + registry, Value: v})
		}
	}
	return found
}
