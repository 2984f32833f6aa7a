// Package engines finds the engine at an address, which --engine or environment.engines has. An
// address begins with a scheme:
//
//	docker                 as DOCKER_HOST, DOCKER_CONTEXT and the docker
//	                       command's current context say
//	podman                 the same; Podman serves Docker's API
//	unix:///path           a socket on this machine
//	tcp://host:port        over the network; DOCKER_TLS_VERIFY and
//	                       DOCKER_CERT_PATH have the certificates
//	ssh://user@host        over ssh, which needs no password, to a machine
//	                       with the docker command
//	context:NAME           a context of the docker command
package engines

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/docker"
	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// Default is the address of the engine that is used if none is named.
const Default = "docker"

// row is an engine of the table.
type row struct {
	form string // of an address, for people
	// at returns how to connect to the engine at an address with the row's scheme, or why no engine
	// can have this address.
	at func(address string, getenv func(string) string, home string) (engine.Connect, error)
}

// table has the engines by the scheme of their addresses. To add an engine, write a package for it
// that implements [engine.Engine], and add a row here.
var table = map[string]row{
	"docker":  {Default, known},
	"podman":  {"podman", known},
	"unix":    {"unix:///path", atHost},
	"tcp":     {"tcp://host:port", atHost},
	"ssh":     {"ssh://user@host", atHost},
	"context": {"context:NAME", inContext},
}

// At returns how to connect to the engine at an address; an empty one is [Default]. It uses the
// variables and files of the engine's own tools, such as DOCKER_HOST. An address that no engine
// can have is a Usage fault.
func At(address string, getenv func(string) string, home string) (engine.Connect, error) {
	if address == "" {
		address = Default
	}
	scheme, _, _ := strings.Cut(address, ":")
	r, ok := table[scheme]
	if !ok {
		r.at = unknown
	}
	connect, err := r.at(address, getenv, home)
	if err != nil {
		return nil, fault.Newf(fault.Usage, "engine %q: %w", address, err).WithHint("expected one of %s", strings.Join(Forms(), ", "))
	}
	return connect, nil
}

func unknown(string, func(string) string, string) (engine.Connect, error) {
	return nil, errors.New("there is no engine of this kind")
}

// Forms lists the forms of addresses, sorted.
func Forms() []string {
	var forms []string
	for _, r := range table {
		forms = append(forms, r.form)
	}
	slices.Sort(forms)
	return forms
}

// known is the engine that the docker command would use.
func known(address string, getenv func(string) string, home string) (engine.Connect, error) {
	if strings.Contains(address, ":") {
		return nil, errors.New("nothing may follow the name")
	}
	return docker.FromEnv(getenv, home).Open, nil
}

func atHost(address string, getenv func(string) string, home string) (engine.Connect, error) {
	if _, rest, _ := strings.Cut(address, "://"); rest == "" {
		return nil, errors.New("it names no place")
	}
	c := docker.FromEnv(getenv, home)
	c.Host = address
	return c.Open, nil
}

func inContext(address string, getenv func(string) string, home string) (engine.Connect, error) {
	c := docker.FromEnv(getenv, home)
	c.Host = ""
	if _, c.Context, _ = strings.Cut(address, ":"); c.Context == "" {
		return nil, errors.New("it names no context")
	}
	return c.Open, nil
}

// CheckPlatform returns a Usage fault if platform is not a platform of containers, such as
// linux/arm64.
func CheckPlatform(platform string) error { return images.CheckPlatform(platform) }

// Logins returns the path of the file with the user's registry logins; "" if there is none.
func Logins(getenv func(string) string, home string) string {
	dir := docker.FromEnv(getenv, home).ConfigDir
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "config.json")
}
