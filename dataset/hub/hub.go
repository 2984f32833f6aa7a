// Package hub fetches datasets from the Hugging Face hub into the cache of the Python library
// huggingface_hub, so that each uses what the other has already downloaded.
//
// It promises that a file in the cache is whole: a download goes to a file ending in ".incomplete",
// is resumed there after a break, is checked against the size and the SHA-256 that the hub gives,
// and is then renamed; a lock keeps two processes from downloading the same file. A file with a
// SHA-256 is checked again whenever it is taken from the cache. An answer that does not come from a
// hub, such as a login page, is refused. The token goes to the endpoint's host only and appears in
// no error and no log.
//
// Cache layout (huggingface.co/docs/huggingface_hub/guides/manage-cache):
//
//	<cache>/datasets--<owner>--<name>/refs/<revision>        the commit it stands for
//	                                  snapshots/<commit>/..  links by file name
//	                                  blobs/<etag>           content
//	<cache>/.locks/datasets--<owner>--<name>/<etag>.lock
//
// Its API is not promised to other programs: see package batch.
package hub

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"batch.example/batch/fault"
	"batch.example/batch/internal/lazy"
	"batch.example/batch/internal/retry"
)

// DefaultEndpoint is used if [Config.Endpoint] is empty.
const DefaultEndpoint = "https://huggingface.co"

// Config says how to reach the hub. CacheDir is required; [FromEnv] fills it.
type Config struct {
	Endpoint string // "" is [DefaultEndpoint]
	Token    string // "" for none; printing a Config does not show it
	CacheDir string // the folder that holds datasets--*
	Offline  bool   // use only the cache
	HTTP     *http.Client
	// Progress is called with the progress of a download in bytes; total is 0 while unknown. It is
	// called on the goroutine that called Fetch.
	Progress func(file string, done, total int64)
	Log      *slog.Logger // nil discards
}

// String describes the config without its token.
func (c Config) String() string {
	token := ""
	if c.Token != "" {
		token = " with a token"
	}
	endpoint := "with a bad address"
	if u, err := url.Parse(c.Endpoint); err == nil {
		endpoint = u.Redacted()
	}
	return "hub " + endpoint + token + " cached in " + c.CacheDir
}

// GoString is String, so that no verb prints the token.
func (c Config) GoString() string { return c.String() }

// LogValue is String, so that no log shows the token.
func (c Config) LogValue() slog.Value { return slog.StringValue(c.String()) }

// Client reads datasets. It is safe for concurrent use.
type Client struct {
	conf     Config
	endpoint *url.URL
	err      error // a bad endpoint, returned when it is needed
	http     http.Client
	log      *slog.Logger
	pause    func(context.Context, time.Duration) error
}

// New returns a client. It does nothing on the network or the disk.
func New(c Config) *Client {
	cl := &Client{conf: c, log: c.Log, pause: retry.Sleep}
	if cl.log == nil {
		cl.log = slog.New(slog.DiscardHandler)
	}
	if c.HTTP != nil {
		cl.http = *c.HTTP
	} else {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.ResponseHeaderTimeout = headerTimeout
		cl.http.Transport = t
	}
	// Redirects are followed by hand, as the token must not follow all of them.
	cl.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	if c.Endpoint == "" {
		c.Endpoint = DefaultEndpoint
	}
	u, err := url.Parse(strings.TrimRight(c.Endpoint, "/"))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		cl.err = fault.Newf(fault.Usage, "reading the hub's endpoint: not a web address").
			WithHint("HF_ENDPOINT should read like %s", DefaultEndpoint)
	}
	cl.endpoint = u
	return cl
}

// Snapshot is a dataset at one commit.
type Snapshot struct {
	Repo   string   // owner/name as asked for
	Commit string   // 40 hexadecimal digits
	Files  []string // names with slashes
	Cached bool     // Files has only the files in the cache: the dataset may have more
}

var (
	repoID   = lazy.Regexp(`^[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*$`)
	commitID = lazy.Regexp(`^[0-9a-f]{40}$`)
)

// Resolve finds the commit and the files of a dataset's revision (branch, tag or commit; "" is
// main). If the network fails and the cache knows the revision, the cache answers and the log says
// so. A dataset that does not exist or is not open to the caller is a Usage fault; a failure of the
// network is a Host fault.
func (c *Client) Resolve(ctx context.Context, repo, revision string) (Snapshot, error) {
	if revision == "" {
		revision = "main"
	}
	if !repoID().MatchString(repo) || strings.Contains(repo, "..") || strings.Contains(repo, "--") {
		return Snapshot{}, fault.Newf(fault.Usage, "opening dataset %q: not an id of the form owner/name", repo)
	}
	if !filepath.IsLocal(filepath.FromSlash(revision)) {
		return Snapshot{}, fault.Newf(fault.Usage, "opening dataset %s: %q is not a revision", repo, revision)
	}
	if c.conf.CacheDir == "" {
		return Snapshot{}, fault.Newf(fault.Usage, "opening dataset %s: no cache folder given", repo).
			WithHint("set HF_HOME or HF_HUB_CACHE")
	}
	cached, cachedErr := c.cached(repo, revision)
	if c.conf.Offline {
		if cachedErr != nil {
			return Snapshot{}, fault.New(fault.Usage, "opening dataset "+repo+" offline", cachedErr).
				WithHint("download it once with the network, or unset HF_HUB_OFFLINE")
		}
		return cached, nil
	}
	if c.err != nil {
		return Snapshot{}, c.err
	}
	tries := maxTries
	if cachedErr == nil {
		tries = 1 // the cache can answer
	}
	snap, err := c.ask(ctx, repo, revision, tries)
	if err != nil && cachedErr == nil && fault.KindOf(err) == fault.Host && ctx.Err() == nil {
		c.log.Warn("hub not reached, using the cached copy", "dataset", repo, "commit", cached.Commit, "err", err)
		return cached, nil
	}
	return snap, err
}

// FromEnv returns the config from huggingface_hub's variables, read with getenv: HF_ENDPOINT,
// HF_TOKEN, HF_TOKEN_PATH, HF_HOME, HF_HUB_CACHE, HF_HUB_OFFLINE, XDG_CACHE_HOME. home is the
// user's home folder. Without HF_TOKEN, the token comes from the file that "hf auth login" writes.
func FromEnv(getenv func(string) string, home string) Config {
	hfHome := getenv("HF_HOME")
	if hfHome == "" {
		cache := getenv("XDG_CACHE_HOME")
		if cache == "" {
			cache = filepath.Join(home, ".cache")
		}
		hfHome = filepath.Join(cache, "huggingface")
	}
	c := Config{
		Endpoint: getenv("HF_ENDPOINT"),
		CacheDir: getenv("HF_HUB_CACHE"),
		Token:    clean(getenv("HF_TOKEN")),
		Offline:  isTrue(getenv("HF_HUB_OFFLINE")),
	}
	if c.CacheDir == "" {
		c.CacheDir = filepath.Join(expand(hfHome, home), "hub")
	}
	c.CacheDir = expand(c.CacheDir, home)
	if c.Token == "" {
		file := getenv("HF_TOKEN_PATH")
		if file == "" {
			file = filepath.Join(hfHome, "token")
		}
		data, _ := os.ReadFile(expand(file, home)) // most people have none
		c.Token = clean(string(data))
	}
	return c
}

// clean removes line ends from a file or a careless paste: no header may contain them.
func clean(token string) string {
	return strings.TrimSpace(strings.NewReplacer("\r", "", "\n", "").Replace(token))
}

func expand(path, home string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(home, rest)
	}
	return path
}

func isTrue(s string) bool {
	switch strings.ToUpper(s) {
	case "1", "ON", "YES", "TRUE":
		return true
	default:
		return false
	}
}
