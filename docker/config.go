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
)

// Config says which engine to use and how. The zero value is the engine at the
// default socket, without the credentials of a user.
type Config struct {
	Host       string // such as unix:///var/run/docker.sock, tcp://host:2376 or ssh://user@host; beats Context
	Context    string // a docker context; empty: the current one in ConfigDir's config.json
	ConfigDir  string // the docker command's directory: contexts and registry logins; empty: none
	APIVersion string // asks for this version instead of agreeing on one with the engine
	CertPath   string // directory with ca.pem, cert.pem and key.pem for a tcp Host
	TLSVerify  bool   // a tcp Host must show a certificate that ca.pem vouches for

	Pulls    int           // images pulled at the same time; 0 means 4
	Lives    int           // containers created at the same time, and as many removed (before Docker 23.0 one); 0 means 4
	Patience time.Duration // how long to wait for an engine that stopped answering; 0 means 5 minutes
	Log      *slog.Logger  // nil discards

	PullTimeout time.Duration // one download may take this long, waits before it aside; 0 is without end

	// Before, when not nil, is asked before each call to an engine on a plain
	// connection (a socket, or tcp without TLS) and may make it fail: an error
	// with a method StatusCode() int stands for that answer of the engine,
	// others for a broken connection. Calls are ping, create, start,
	// attach, inspect, remove, list, pull, image, copy, and else the last word
	// of their address. It is for tests, and called by many goroutines at once.
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

// loadFile reads the user's config.json. One that cannot be read is reported
// and passed over, as the docker command does: a public image needs no login.
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

// endpoint finds the engine: Host, else the context, else the default socket.
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
	hint := "docker context ls shows the contexts there are; unset DOCKER_CONTEXT for the default one"
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
