package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/retry"
)

const (
	maxTries      = 5
	maxRedirects  = 10
	maxAnswer     = 64 << 20 // bytes of a dataset's description
	headerTimeout = 30 * time.Second
	maxRetryAfter = 5 * time.Minute
)

// status is an answer with another status than the expected one.
type status struct {
	code       int
	reason     string // the hub's X-Error-Code
	retryAfter time.Duration
}

func (s *status) Error() string {
	text := strconv.Itoa(s.code) + " " + http.StatusText(s.code)
	if s.reason != "" {
		text += " (" + s.reason + ")"
	}
	return text
}

func (s *status) passing() bool {
	return s.code == http.StatusTooManyRequests || s.code == http.StatusRequestTimeout || s.code >= 500
}

// ask gets a dataset's description from the hub.
func (c *Client) ask(ctx context.Context, repo, revision string, tries int) (Snapshot, error) {
	op := "asking the hub for dataset " + repo
	u := c.url("/api/datasets/" + repo + "/revision/" + url.PathEscape(revision))
	var info struct {
		SHA      string `json:"sha"`
		Siblings []struct {
			Name string `json:"rfilename"`
		} `json:"siblings"`
	}
	err := c.retry(ctx, tries, func() error { return c.read(ctx, u, &info) })
	if err == nil && !commitID().MatchString(info.SHA) {
		err = notHub("an answer that names no commit")
	}
	if err == nil && commitID().MatchString(revision) && info.SHA != revision {
		err = notHub("an answer for commit " + info.SHA)
	}
	if err != nil {
		return Snapshot{}, c.explain(op, repo, revision, err)
	}
	snap := Snapshot{Repo: repo, Commit: info.SHA}
	for _, s := range info.Siblings {
		snap.Files = append(snap.Files, s.Name)
	}
	return snap, c.remember(repo, revision, info.SHA)
}

// read gets a small JSON document.
func (c *Client) read(ctx context.Context, u *url.URL, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stallTimeout, errStalled)
	defer cancel()
	res, err := c.do(ctx, http.MethodGet, u, nil)
	if err == nil {
		defer res.Body.Close()
		err = json.NewDecoder(io.LimitReader(res.Body, maxAnswer)).Decode(into)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return notHub("an answer that is not JSON")
	}
	return err
}

// url returns an address at the endpoint; path must be escaped.
func (c *Client) url(path string) *url.URL {
	u := *c.endpoint
	u.RawPath = u.EscapedPath() + path
	u.Path, _ = url.PathUnescape(u.RawPath) // PathEscape's result can always be unescaped
	return &u
}

// do makes one request and follows its redirects. The headers in with go to every hop, the token
// only to the endpoint. The caller closes the body. The answer's headers include the X-* headers of
// the first hop, which are the hub's.
func (c *Client) do(ctx context.Context, method string, u *url.URL, with http.Header) (*http.Response, error) {
	linked := http.Header{}
	for range maxRedirects {
		res, err := c.once(ctx, method, u, with)
		if err != nil {
			return nil, err
		}
		for _, h := range []string{"X-Linked-Etag", "X-Linked-Size", "X-Repo-Commit"} {
			if v := res.Header.Get(h); v != "" && linked.Get(h) == "" {
				linked.Set(h, v)
			}
		}
		if res.StatusCode == http.StatusOK || res.StatusCode == http.StatusPartialContent {
			if packed := res.Header.Get("Content-Encoding"); packed != "" && packed != "identity" {
				res.Body.Close()
				return nil, notHub("an answer packed as " + packed)
			}
			for h, v := range linked {
				res.Header[h] = v
			}
			return res, nil
		}
		res.Body.Close()
		next, err := res.Location()
		if res.StatusCode >= 400 || err != nil {
			return nil, statusOf(res)
		}
		u = next
	}
	return nil, errors.New("too many redirects")
}

func (c *Client) once(ctx context.Context, method string, u *url.URL, with http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, u.String(), nil)
	if err != nil {
		return nil, errors.New("bad address in a redirect")
	}
	for h, v := range with {
		req.Header[h] = v
	}
	req.Header.Set("User-Agent", "batch")
	req.Header.Set("Accept-Encoding", "identity") // sizes and ranges are of the file itself
	if c.conf.Token != "" && u.Scheme == c.endpoint.Scheme && u.Host == c.endpoint.Host {
		req.Header.Set("Authorization", "Bearer "+c.conf.Token)
	}
	res, err := c.http.Do(req)
	if err == nil {
		return res, nil
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err // the address may be signed
	}
	return nil, fmt.Errorf("%s: %w", u.Host, err)
}

func statusOf(res *http.Response) *status {
	return &status{
		code: res.StatusCode, reason: res.Header.Get("X-Error-Code"), retryAfter: min(retry.After(res.Header), maxRetryAfter),
	}
}

// progressed is a failure after some progress, which resets the count of tries.
type progressed struct{ error }

func (p progressed) Unwrap() error { return p.error }

// retry calls do until it succeeds, fails for good, or has failed tries times in a row.
func (c *Client) retry(ctx context.Context, tries int, do func() error) error {
	policy := retry.Policy{First: time.Second / 2, Longest: time.Minute, Factor: 1.5, Jitter: .5, Tries: tries}
	for t := policy.Start(); ; {
		err := do()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		_, moved := errors.AsType[progressed](err)
		if moved {
			t.Restart()
		}
		var asked time.Duration
		if s, ok := errors.AsType[*status](err); ok {
			asked = s.retryAfter
		}
		wait, again := t.Next(asked)
		if moved { // it is no failure in a row
			t.Failed, again = 0, true
		}
		if err == nil || permanent(err) || !again {
			return err
		}
		c.log.Warn("a request to the hub failed; trying again", "after", wait.Round(time.Millisecond), "err", err)
		if err := c.pause(ctx, wait); err != nil {
			return err
		}
	}
}

// permanent reports whether another try cannot help.
func permanent(err error) bool {
	if s, ok := errors.AsType[*status](err); ok {
		return !s.passing()
	}
	return fault.KindOf(err) != fault.Unknown && fault.KindOf(err) != fault.Transient
}

// explain turns a failed request into a fault with advice.
func (c *Client) explain(op, repo, revision string, err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if kind := fault.KindOf(err); kind != fault.Unknown {
		return fault.New(kind, op, err)
	}
	s, ok := errors.AsType[*status](err)
	if ok && s.code < 400 {
		return fault.New(fault.Host, op, notHub("the answer "+s.Error()))
	}
	if !ok || s.passing() {
		return fault.New(fault.Host, op, err).
			WithHint("check the network, set HF_ENDPOINT to a mirror, or HF_HUB_OFFLINE=1 to use what is cached")
	}
	f := fault.New(fault.Usage, op, s)
	page := c.endpoint.Redacted() + "/datasets/" + repo
	switch {
	case s.reason == "GatedRepo" || s.code == http.StatusForbidden:
		return f.WithHint("the dataset is gated: accept its terms at %s and set HF_TOKEN to a token that may read it", page)
	case s.reason == "RevisionNotFound":
		return f.WithHint("it has no revision %s", revision)
	case s.code == http.StatusUnauthorized && c.conf.Token != "":
		return f.WithHint("the token in HF_TOKEN is not accepted, or the dataset does not exist: see %s", page)
	case s.code == http.StatusUnauthorized:
		return f.WithHint("the dataset does not exist or is private: check its name at %s, or set HF_TOKEN", page)
	case s.code == http.StatusNotFound:
		return f.WithHint("no such dataset at %s: check the name; a private one needs HF_TOKEN", page)
	default:
		return f
	}
}
