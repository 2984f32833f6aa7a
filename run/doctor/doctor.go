// Package doctor checks whether a machine can run batch, and says how to fix what is missing: the
// engine, memory, disk, the registry, the models' keys and the dataset hub. Only on request does it
// start a container or call a model.
//
// Its API is not promised to other programs: see package batch.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/docker/go-units"
	"golang.org/x/sys/unix"

	"batch.example/batch/dataset/hub"
	"batch.example/batch/fault"
	"batch.example/batch/llm/catalogue"
	"batch.example/batch/sandbox/engine"
)

// Check is the result of one check.
type Check struct {
	Name  string `json:"check"`
	State State  `json:"state"`
	Text  string `json:"text"`
	Hint  string `json:"hint,omitempty"` // how to fix it; may have several lines
}

// State is the severity of a check's result.
type State string

// A run can work unless a check is Bad.
const (
	Good    State = "ok"
	Warning State = "warn"
	Bad     State = "FAIL"
)

// Config says what to check.
type Config struct {
	Engines []Engine       // at least one
	Options engine.Options // of each
	Try     engine.Spec    // a container to start on each; without an image, none
	MaxCPUs float64        // of it, up to what the engine has; 0: as Try says
	Hub     hub.Config
	Dir     string                   // where runs will be written
	Getenv  func(name string) string // has the models' keys
	Image   string                   // its registry is asked; empty: none is
	Program string                   // the path of batch itself
	Model   bool                     // [Ask] checks one model, so that it does not matter which keys are set
}

// Engine is an engine to check. The results of several have the address in front.
type Engine struct {
	Address string
	Connect engine.Connect
}

// Look makes all checks one after the other. An engine that is absent is a warning if another one
// answers, since a run uses that one.
func Look(ctx context.Context, c Config) (checks []Check) {
	var absent []int // of checks
	var same []Check
	at := map[string]string{} // addresses, by the engine's id
	for _, e := range c.Engines {
		found, about := lookAt(ctx, c, e)
		if about == nil {
			absent = append(absent, len(checks))
		} else if first := at[about.ID]; first != "" && about.ID != "" {
			same = append(same, Check{"engine", Bad, e.Address + ": the same one as " + first, "name it once"})
		} else {
			at[about.ID] = e.Address
		}
		for i := range found {
			if len(c.Engines) > 1 {
				found[i].Text = e.Address + ": " + found[i].Text
			}
		}
		checks = append(checks, found...)
	}
	if len(absent) < len(c.Engines) {
		for _, i := range absent {
			checks[i].State = Warning
		}
	}
	checks = append(append(checks, same...), checkName(c.Getenv("PATH"), c.Program)...)
	checks = append(checks, checkOutput(c.Dir))
	if !c.Model {
		checks = append(checks, checkKey(c.Getenv))
	}
	return append(checks, checkHub(ctx, c.Hub))
}

// checkName warns of another program that a shell starts for the word batch.
func checkName(path, program string) []Check {
	own, _ := os.Stat(program)
	for _, dir := range filepath.SplitList(path) {
		name := filepath.Join(dir, "batch")
		switch found, err := os.Stat(name); {
		case err != nil || found.IsDir() || found.Mode()&0o111 == 0:
		case own == nil || os.SameFile(own, found):
			return nil
		default:
			hint := "put this one first: `export PATH=" + filepath.Dir(program) + ":$PATH`"
			return []Check{{"path", Warning, name + " is another program, and the first batch in PATH; at(1) has one", hint}}
		}
	}
	return nil
}

// lookAt makes the checks of one engine. If the engine does not answer, it returns one check and nil.
func lookAt(ctx context.Context, c Config, at Engine) ([]Check, *engine.About) {
	checks, e, about := checkEngine(ctx, at.Connect, c.Options)
	if e == nil {
		return checks, nil
	}
	defer e.Close() //nolint:errcheck // what it started is removed
	checks = append(checks, checkClean(ctx, e))
	if r, ok := e.(engine.Registry); ok && c.Image != "" {
		checks = append(checks, checkRegistry(ctx, e, r, c.Image))
	}
	if c.Try.Image != "" {
		if c.MaxCPUs > 0 {
			c.Try.CPUs = min(c.MaxCPUs, float64(about.CPUs))
		}
		checks = append(checks, try(ctx, e, c.Try))
	}
	return checks, about
}

// try starts a container, in which a command must work, and removes it.
func try(ctx context.Context, e engine.Engine, s engine.Spec) Check {
	began := time.Now()
	if err := engine.Try(ctx, e, s); err != nil {
		return Check{"try", Bad, err.Error(), fault.HintOf(err)}
	}
	text := fmt.Sprintf("a command in a container of %s works; network: %s; %.1fs", s.Image, cmp.Or(s.Network, "none"), time.Since(began).Seconds())
	return Check{"try", Good, text, ""}
}

func checkEngine(ctx context.Context, connect engine.Connect, o engine.Options) ([]Check, engine.Engine, *engine.About) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	e, err := connect(ctx, o)
	if err != nil {
		return []Check{{"engine", Bad, err.Error(), fault.HintOf(err)}}, nil, nil
	}
	info, err := e.About(ctx)
	if err != nil {
		_ = e.Close() // nothing was started through it
		return []Check{{"engine", Bad, err.Error(), fault.HintOf(err)}}, nil, nil
	}
	checks := []Check{{"engine", Good, describe(info), ""}}
	checks = append(checks, checkMemory(info))
	if own, ok := e.(engine.Checker); ok {
		for _, f := range own.Check(ctx) {
			checks = append(checks, checkOf(f))
		}
		return checks, e, &info
	}
	return append(checks, checkLimits(info), checkQuota(ctx, e), checkDisk("disk", info.ImageDir, 20<<30)), e, &info
}

func checkMemory(info engine.About) Check {
	if info.Memory == 0 {
		return Check{"memory", Good, "not known, CPUs: not known", ""}
	}
	memory := Check{"memory", Good, fmt.Sprintf("%s, CPUs: %d", units.BytesSize(float64(info.Memory)), info.CPUs), ""}
	if info.Memory < 4<<30 {
		memory.State, memory.Hint = Warning, "test suites often need 2 GiB each: run few instances at once, such as `-w 1`, or use `-w auto`"
	}
	return memory
}

func checkOf(f engine.Finding) Check {
	if f.Err != nil {
		return Check{f.Name, Bad, f.Err.Error(), fault.HintOf(f.Err)}
	}
	return Check{f.Name, Good, f.Text, ""}
}

func describe(info engine.About) string {
	text := fmt.Sprintf("%s, API %s, %s/%s", info.Version, info.APIVersion, info.OS, info.Arch)
	if info.StorageDriver == "" {
		return info.Address + ": " + text
	}
	return text + ", storage " + info.StorageDriver
}

// checkLimits says which limits of containers the engine can enforce.
func checkLimits(info engine.About) Check {
	switch {
	case len(info.Unlimited) > 0:
		return Check{
			"limits", Warning, "the engine cannot limit " + strings.Join(info.Unlimited, ", ") + ": containers run without these limits",
			"a rootless engine needs the cgroup v2 controllers delegated to its user:\n" +
				"`Delegate=cpu cpuset io memory pids` in systemd's user@.service",
		}
	case info.Podman:
		return Check{"limits", Good, "Podman does not report what it can limit; a run reports what it refuses", ""}
	default:
		return Check{"limits", Good, "CPUs, memory, swap and processes of containers can be limited", ""}
	}
}

// checkQuota says how --disk is enforced.
func checkQuota(ctx context.Context, e engine.Engine) Check {
	limiter, ok := e.(engine.DiskLimiter)
	if !ok {
		return Check{"quota", Good, "the engine does not limit the disk", ""}
	}
	able, known, err := limiter.LimitsDisk(ctx)
	switch {
	case err != nil:
		return Check{"quota", Warning, err.Error(), fault.HintOf(err)}
	case !known:
		return Check{"quota", Good, "whether the storage driver can enforce --disk is known once there is an image", ""}
	case able:
		return Check{"quota", Good, "the storage driver enforces --disk", ""}
	default:
		return Check{"quota", Good, "the storage driver has no quotas: batch itself checks --disk every few seconds", ""}
	}
}

func checkClean(ctx context.Context, e engine.Engine) Check {
	owned, err := e.Owned(ctx)
	crashed := slices.DeleteFunc(owned, func(s engine.Owned) bool { return !s.Abandoned })
	switch {
	case err != nil:
		return Check{"clean", Warning, err.Error(), fault.HintOf(err)}
	case len(crashed) == 1:
		return Check{"clean", Warning, "1 container of a crashed run", "`batch clean` removes it, and so does the next `batch run`"}
	case len(crashed) > 1:
		return Check{"clean", Warning, fmt.Sprintf("%d containers of crashed runs", len(crashed)), "`batch clean` removes them, and so does the next `batch run`"}
	default:
		return Check{"clean", Good, "no containers of crashed runs", ""}
	}
}

// registryLimit is the time limit for the registry's answer.
const registryLimit = 5 * time.Second

// checkRegistry asks the registry for an image as a pull would. Problems are only warnings, since a
// run's images may all be on the engine.
func checkRegistry(ctx context.Context, e engine.Engine, r engine.Registry, image string) Check {
	host, _, _ := strings.Cut(image, "/")
	if _, here, err := r.ImageEngine().Image(ctx, image); err == nil && here {
		return Check{"images", Good, "the engine has " + image, ""}
	}
	if info, err := e.About(ctx); err == nil && info.Podman {
		return Check{"images", Good, "Podman asks a registry only when it pulls", ""}
	}
	limited, cancel := context.WithTimeout(ctx, registryLimit)
	defer cancel()
	err := r.Offered(limited, image)
	const here = "images that are on the engine are used; a mirror is named with --image-prefix"
	switch {
	case err == nil:
		return Check{"images", Good, host + " answers, and has " + image, ""}
	case limited.Err() != nil:
		return Check{"images", Warning, fmt.Sprintf("%s does not answer within %v", host, registryLimit), here}
	case fault.KindOf(err) == fault.Instance:
		return Check{"images", Warning, err.Error(), fault.HintOf(err)}
	default:
		return Check{"images", Warning, host + " cannot be asked for images: " + errors.Unwrap(err).Error(), here}
	}
}

// checkDisk looks at the file system of the engine's data, when it is local.
func checkDisk(name, dir string, want uint64) Check {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return Check{name, Warning, fmt.Sprintf("free space of %s is unknown: %v", dir, err), ""}
	}
	free := st.Bavail * uint64(st.Bsize)
	c := Check{name, Good, fmt.Sprintf("%s free in %s", units.BytesSize(float64(free)), dir), ""}
	if free < want {
		c.State = Warning
		c.Hint = "SWE-bench images take 1-3 GB each; free some space, or select fewer instances with --slice"
	}
	return c
}

func checkOutput(dir string) Check {
	probe, err := os.CreateTemp(dir, ".batch-doctor-*")
	if err != nil {
		return Check{"output", Warning, "the current directory is not writable: " + err.Error(), "name a writable run directory with -o"}
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return checkDisk("output", dir, 1<<30)
}

// checkKey says for which providers there is a key.
func checkKey(getenv func(string) string) Check {
	var ready, missing []string
	for _, p := range catalogue.Providers() {
		if !p.Paid {
			continue
		}
		if text, ok := p.Ready(getenv); ok {
			ready = append(ready, text)
		} else if !p.Further {
			missing = append(missing, p.Key)
		}
	}
	if len(ready) > 0 {
		return Check{"key", Good, strings.Join(ready, "; "), ""}
	}
	return Check{
		"key", Warning, "no key of a provider is set, such as " + strings.Join(missing, ", "),
		"export one for a real model: `export " + missing[0] + "=...`; " + catalogue.Free() + " models need none",
	}
}

func checkHub(ctx context.Context, c hub.Config) Check {
	if c.Offline {
		return Check{"hub", Good, "offline: datasets come from " + c.CacheDir, ""}
	}
	if c.Endpoint == "" {
		c.Endpoint = hub.DefaultEndpoint
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, c.Endpoint, nil)
	if err != nil {
		return Check{"hub", Warning, err.Error(), "set HF_ENDPOINT to a URL, or unset it"}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		text := c.Endpoint + " is not reachable"
		if errors.Is(err, context.DeadlineExceeded) {
			text = c.Endpoint + " does not answer within 5 s"
		}
		return Check{"hub", Warning, text, "use a local file, the cache with HF_HUB_OFFLINE=1, or a mirror with HF_ENDPOINT"}
	}
	_ = resp.Body.Close()
	return Check{"hub", Good, c.Endpoint + " is reachable", ""}
}
