package docker

import (
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/docker/cli/cli/config"
	"github.com/docker/cli/cli/config/configfile"
	clicontext "github.com/docker/cli/cli/context"
	ctxdocker "github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"
	"github.com/docker/docker/client"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// Config says which engine to use and how. The zero value is the engine at the
// default socket, without registry logins.
type Config struct {
	Host       string // such as unix:///var/run/docker.sock, tcp://host:2376 or ssh://user@host; overrides Context
	Context    string // a docker context; empty: the current one in ConfigDir's config.json
	ConfigDir  string // the docker command's directory: contexts and registry logins; empty: none
	APIVersion string // asks for this version instead of agreeing on one with the engine
	CertPath   string // directory with ca.pem, cert.pem and key.pem for a tcp Host
	TLSVerify  bool   // a tcp Host must have a certificate signed by ca.pem

	Pulls    int           // images pulled at the same time; 0 means 4
	Creates  int           // containers created at the same time, and also the number removed at the same time (before Docker 23.0, one of those with a network); 0 means 4
	Patience time.Duration // how long to wait for an engine that stopped answering; 0 means 5 minutes
	Log      *slog.Logger  // nil discards

	PullTimeout time.Duration // for one download, without the waits before it; 0 means no limit

	Builds map[string]engine.Build // images that Pull builds, by name

	// Before, when not nil, is called before each call to an engine on a plain
	// connection (a socket, or tcp without TLS) and can make that call fail: an error
	// with a method StatusCode() int stands for an answer of the engine with that status,
	// any other error for a broken connection. The calls are named ping, create, start,
	// attach, inspect, remove, list, pull, image, copy; others by the last word
	// of their address. Before is for tests. Many goroutines call it at once.
	Before func(call string) error
}

// FromEnv reads the docker command's own variables: DOCKER_HOST,
// DOCKER_CONTEXT, DOCKER_CONFIG, DOCKER_API_VERSION, DOCKER_CERT_PATH and
// DOCKER_TLS_VERIFY. Home is the user's home directory; ~/.docker in it is
// where the docker command keeps its files.
func FromEnv(getenv func(string) string, home string) Config {
	c := Config{
		Host:       getenv("DOCKER_HOST"),
		Context:    getenv("DOCKER_CONTEXT"),
		ConfigDir:  getenv("DOCKER_CONFIG"),
		APIVersion: getenv("DOCKER_API_VERSION"),
		CertPath:   getenv("DOCKER_CERT_PATH"),
		TLSVerify:  getenv("DOCKER_TLS_VERIFY") != "",
	}
	if c.ConfigDir == "" && home != "" {
		c.ConfigDir = filepath.Join(home, ".docker")
	}
	return c
}

// loadFile reads the user's config.json. A file that cannot be read is reported
// and ignored, as the docker command does: a public image needs no login.
func (c Config) loadFile(log *slog.Logger) *configfile.ConfigFile {
	if c.ConfigDir == "" {
		return configfile.New("")
	}
	file, err := config.Load(c.ConfigDir)
	if err != nil {
		log.Warn("docker logins and contexts are not used", "dir", c.ConfigDir, "err", err)
		return configfile.New("")
	}
	return file
}

// endpoint finds the engine: Host, then the context, then the default socket.
func (c Config) endpoint(file *configfile.ConfigFile) (ctxdocker.Endpoint, error) {
	if c.Host != "" {
		return c.hostEndpoint(c.Host)
	}
	name := c.Context
	if name == "" {
		name = file.CurrentContext
	}
	if name == "" || name == "default" {
		return c.hostEndpoint(client.DefaultDockerHost)
	}
	op := "reading docker context " + name
	hint := "`docker context ls` lists the contexts; unset DOCKER_CONTEXT to use the default one"
	s := store.New(filepath.Join(c.ConfigDir, "contexts"), store.NewConfig(
		func() any { return &map[string]any{} },
		store.EndpointTypeGetter(ctxdocker.DockerEndpoint, func() any { return &ctxdocker.EndpointMeta{} }),
	))
	meta, err := s.GetMetadata(name)
	if err != nil {
		return ctxdocker.Endpoint{}, fault.New(fault.Usage, op, err).WithHint("%s", hint)
	}
	ep, err := ctxdocker.EndpointFromContext(meta)
	if err != nil {
		return ctxdocker.Endpoint{}, fault.New(fault.Usage, op, err).WithHint("%s", hint)
	}
	full, err := ctxdocker.WithTLSData(s, name, ep)
	if err != nil {
		return ctxdocker.Endpoint{}, fault.New(fault.Usage, op, err).WithHint("%s", hint)
	}
	return full, nil
}

// hostEndpoint is the engine at host, with certificates when it is tcp.
func (c Config) hostEndpoint(host string) (ctxdocker.Endpoint, error) {
	if !strings.Contains(host, "://") {
		return ctxdocker.Endpoint{}, fault.Newf(fault.Usage, "docker host %q: expected a scheme", host).
			WithHint("use unix:///path, tcp://host:port or ssh://user@host")
	}
	ep := ctxdocker.Endpoint{EndpointMeta: ctxdocker.EndpointMeta{Host: host}}
	if !strings.HasPrefix(host, "tcp://") || (c.CertPath == "" && !c.TLSVerify) {
		return ep, nil
	}
	dir := c.CertPath
	if dir == "" {
		dir = c.ConfigDir
	}
	var data clicontext.TLSData
	for name, to := range map[string]*[]byte{"ca.pem": &data.CA, "cert.pem": &data.Cert, "key.pem": &data.Key} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return ep, fault.New(fault.Usage, "reading docker certificates", err).WithHint("check DOCKER_CERT_PATH")
		}
		*to = b
	}
	ep.TLSData = &data
	ep.SkipTLSVerify = !c.TLSVerify
	return ep, nil
}
