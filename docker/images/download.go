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

	"batch.example/batch/fault"
	cache "batch.example/batch/sandbox/images"
)

// progressEvery is the shortest time between two progress reports: the engine sends
// hundreds per second.
const progressEvery = 100 * time.Millisecond

// download lets the engine pull name and reads its messages until the end. The error is
// the engine's, without blame, unless the download took too long.
func (s *Store) download(ctx context.Context, name wanted, report func(cache.Progress)) error {
	start := time.Now()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stalled := time.AfterFunc(s.pace.stall, func() {
		cancel(fault.Newf(fault.Transient, "pulling image %s: no progress for %v", name, s.pace.stall).
			WithHint("check that the engine can reach the registry: docker pull %s", name))
	})
	defer stalled.Stop()
	if s.pullTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, s.pullTimeout,
			fault.Newf(fault.Transient, "pulling image %s: not finished within %v", name, s.pullTimeout).
				WithHint("raise `environment.pull_timeout`, or check why the registry is slow"))
		defer cancel()
	}
	body, err := s.engine.API.ImagePull(ctx, name.String(), image.PullOptions{RegistryAuth: s.credentials(name.Named), Platform: name.platform})
	if err == nil {
		defer body.Close()
		err = follow(body, report, func() { stalled.Reset(s.pace.stall) })
	}
	s.engine.NoteError(err)
	switch {
	case err == nil:
		s.engine.Log.Debug("image pulled", "image", name.String(), "dur", time.Since(start))
	case ctx.Err() != nil: // the reason, not the error that followed from it
		return context.Cause(ctx)
	}
	return err
}

// message is one of the engine's messages about a pull.
type message struct {
	ID, Status string
	Progress   *struct{ Current, Total int64 } `json:"progressDetail"`
	Error      *struct{ Message string }       `json:"errorDetail"`
}

// follow reads the engine's stream of messages. It calls news for each message that differs
// from the previous one about the same layer: some engines repeat a message while nothing
// arrives. An error in the stream is the result of the pull, since the HTTP status was sent
// long before.
func follow(r io.Reader, report func(cache.Progress), news func()) error {
	layers, states := map[string]*cache.Progress{}, map[string]layerState{}
	dec := json.NewDecoder(r)
	var last time.Time
	for {
		var m message
		if err := dec.Decode(&m); errors.Is(err, io.EOF) {
			report(sum(layers))
			return nil
		} else if err != nil {
			return err
		}
		if m.Error != nil {
			return errors.New(m.Error.Message)
		}
		if now := stateOf(m); states[m.ID] != now {
			states[m.ID] = now
			news()
		}
		note(layers, m)
		if time.Since(last) >= progressEvery {
			last = time.Now()
			report(sum(layers))
		}
	}
}

// layerState is the progress of a layer, as a message reports it.
type layerState struct {
	status  string
	current int64
}

func stateOf(m message) layerState {
	s := layerState{status: m.Status}
	if m.Progress != nil {
		s.current = m.Progress.Current
	}
	return s
}

// note records what one message says about its layer. Messages without an id
// and the one that names the tag are not about a layer.
func note(layers map[string]*cache.Progress, m message) {
	if m.Status == "" || m.ID == "" {
		return
	}
	l := layers[m.ID]
	switch m.Status {
	case "Pulling fs layer", "Waiting":
		if l == nil {
			layers[m.ID] = &cache.Progress{}
		}
	case "Downloading":
		if l != nil && m.Progress != nil {
			l.Current, l.Total = m.Progress.Current, max(m.Progress.Total, m.Progress.Current)
		}
	case "Download complete", "Extracting":
		if l == nil {
			return
		}
		if m.Progress != nil && l.Total == 0 {
			l.Total = m.Progress.Total // a layer too small for progress reports
		}
		l.Current = l.Total
	case "Pull complete":
		if l != nil {
			l.Current = l.Total
		}
	}
}

func sum(layers map[string]*cache.Progress) (all cache.Progress) {
	for _, l := range layers {
		all.Current += l.Current
		all.Total += l.Total
	}
	return all
}

// credentials returns the user's login for the registry of name in the form that
// the engine takes, or an empty string: a public image does not need a login, and for
// another image the registry reports that it needs one. The text is a secret.
func (s *Store) credentials(name reference.Named) string {
	host := reference.Domain(name)
	if host == "docker.io" {
		host = "https://index.docker.io/v1/" // the key that the docker command uses
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
