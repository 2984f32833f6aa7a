package images

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
	"github.com/docker/docker/pkg/jsonmessage"

	"batch.example/batch/fault"
)

// progressEvery spaces out progress reports: the engine sends hundreds a second.
const progressEvery = 100 * time.Millisecond

// download asks the engine for name and follows what it says until the end.
// Its error is the engine's, without blame, unless it took too long.
func (s *Store) download(ctx context.Context, name wanted, report func(PullProgress)) error {
	start := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(s.pace.stall, func() {
		cancel(fault.Newf(fault.Transient, "pulling image %s: nothing new for %v", name, s.pace.stall).
			WithHint("see whether the engine reaches the registry: docker pull %s", name))
	})
	defer stalled.Stop()
	if s.pullTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.pullTimeout,
			fault.Newf(fault.Transient, "pulling image %s: no end within %v", name, s.pullTimeout).
				WithHint("allow a pull more time (environment.pull_timeout), or see why the registry is slow"))
		defer cancel()
	}
	body, err := s.engine.API.ImagePull(ctx, name.String(), image.PullOptions{RegistryAuth: s.credentials(name.Named), Platform: name.platform})
	if err == nil {
		defer body.Close()
		err = follow(body, PullProgress{Ref: name.String()}, report, func() { stalled.Reset(s.pace.stall) })
	}
	s.engine.Suspect(err)
	switch {
	case err == nil:
		s.engine.Log.Debug("image pulled", "image", name.String(), "dur", time.Since(start))
	case ctx.Err() != nil: // rather than what it caused
		return context.Cause(ctx)
	}
	return err
}

// layer is what is known of one layer while it comes.
type layer struct {
	current, total int64
	done           bool
}

// follow reads the engine's stream of messages, and calls news for each that says
// what the one before of its layer did not: some engines repeat themselves while
// nothing comes. An error in the stream is the result of the pull: the HTTP
// status was sent long before.
func follow(r io.Reader, p PullProgress, report func(PullProgress), news func()) error {
	layers, said := map[string]*layer{}, map[string]sign{}
	dec := json.NewDecoder(r)
	var last time.Time
	for {
		var m jsonmessage.JSONMessage
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			report(sum(p, layers))
			return nil
		} else if err != nil {
			return err
		}
		if m.Error != nil {
			return m.Error
		}
		if now := signOf(m); said[m.ID] != now {
			said[m.ID] = now
			news()
		}
		note(layers, m)
		if time.Since(last) >= progressEvery {
			last = time.Now()
			report(sum(p, layers))
		}
	}
}

// sign is what a message says of how far its layer is.
type sign struct {
	status  string
	current int64
}

func signOf(m jsonmessage.JSONMessage) sign {
	s := sign{status: m.Status}
	if m.Progress != nil {
		s.current = m.Progress.Current
	}
	return s
}

// note takes over what one message says of its layer. Messages without an id
// and the one that names the tag are not about a layer.
func note(layers map[string]*layer, m jsonmessage.JSONMessage) {
	if m.Status == "" || m.ID == "" {
		return
	}
	l := layers[m.ID]
	switch m.Status {
	case "Pulling fs layer", "Waiting", "Already exists":
		if l == nil {
			l = &layer{}
			layers[m.ID] = l
		}
		l.done = m.Status == "Already exists"
	case "Downloading":
		if l != nil && m.Progress != nil {
			l.current, l.total = m.Progress.Current, max(m.Progress.Total, m.Progress.Current)
		}
	case "Download complete", "Extracting":
		if l == nil {
			return
		}
		if m.Progress != nil && l.total == 0 {
			l.total = m.Progress.Total // too small to have been reported on its way
		}
		l.current = l.total
	case "Pull complete":
		if l != nil {
			l.current, l.done = l.total, true
		}
	}
}

func sum(p PullProgress, layers map[string]*layer) PullProgress {
	p.Layers = len(layers)
	for _, l := range layers {
		p.Current += l.current
		p.Total += l.total
		if l.done {
			p.Done++
		}
	}
	return p
}

// credentials returns the user's login for the registry of name in the form
// the engine takes, or nothing: a public image needs none, and the registry
// says so when it does. The text is a secret.
func (s *Store) credentials(name reference.Named) string {
	host := reference.Domain(name)
	if host == "docker.io" {
		host = "https://index.docker.io/v1/" // the key the docker command files it under
	}
	s.auth.Lock()
	a, err := s.login.GetAuthConfig(host)
	s.auth.Unlock()
	if err != nil {
		s.engine.Log.Warn("registry login not used: the credential helper failed", "registry", host, "err", err)
		return ""
	}
	if a.Username == "" && a.Password == "" && a.IdentityToken == "" && a.RegistryToken == "" {
		return ""
	}
	text, err := registry.EncodeAuthConfig(registry.AuthConfig{
		Username: a.Username, Password: a.Password, Auth: a.Auth, ServerAddress: a.ServerAddress,
		IdentityToken: a.IdentityToken, RegistryToken: a.RegistryToken,
	})
	if err != nil {
		return ""
	}
	return text
}
