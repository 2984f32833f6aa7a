package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/docker/go-units"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"batch.example/batch/dataset/hub"
	"batch.example/batch/docker"
	"batch.example/batch/docker/containers"
	"batch.example/batch/fault"
	"batch.example/batch/internal/printable"
	"batch.example/batch/llm/catalogue"
)

// check is one line of the doctor's report.
type check struct {
	name, state, text, hint string
}

// States of a check. Only bad ones make the command fail.
const (
	good    = "ok"
	warning = "warn"
	bad     = "FAIL"
)

func (a *app) doctorCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check that this machine can run it, and say what to do",
		Long: `Check the Docker engine, memory, disk, the model's key and the dataset hub, and
say what to do about what is missing. Exit code 1 when a run could not work.`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			failed := 0
			for _, k := range a.checks(c.Context()) {
				fmt.Fprintf(a.stdout, "%-5s %-7s %s\n", k.state, k.name, printable.Line(k.text))
				if k.hint != "" {
					fmt.Fprintf(a.stdout, "%14s%s\n", "", strings.ReplaceAll(k.hint, "\n", "\n"+strings.Repeat(" ", 14)))
				}
				if k.state == bad {
					failed++
				}
			}
			if failed > 0 {
				return fault.Newf(fault.Host, "%d checks failed", failed)
			}
			return nil
		},
	}
}

func (a *app) checks(ctx context.Context) []check {
	checks, engine := a.checkEngine(ctx)
	if engine != nil {
		defer engine.Close()
		checks = append(checks, a.checkStrays(ctx, engine))
	}
	return append(checks, checkOutput("."), a.checkKey(), a.checkHub(ctx))
}

func (a *app) checkEngine(ctx context.Context) ([]check, *docker.Engine) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	engine, err := docker.Connect(ctx, docker.FromEnv(a.getenv, a.home))
	if err != nil {
		return []check{{"engine", bad, err.Error(), fault.HintOf(err)}}, nil
	}
	info, err := engine.Info(ctx)
	if err != nil {
		_ = engine.Close() // nothing was started through it
		return []check{{"engine", bad, err.Error(), fault.HintOf(err)}}, nil
	}
	checks := []check{{"engine", good, fmt.Sprintf("%s, API %s, %s/%s, storage %s", info.Version, info.APIVersion, info.OS, info.Arch, info.StorageDriver), ""}}
	memory := check{"memory", good, fmt.Sprintf("%s for %d CPUs", units.BytesSize(float64(info.Memory)), info.CPUs), ""}
	if info.Memory < 4<<30 {
		memory.state, memory.hint = warning, "test suites often need 2 GiB each; keep --workers small"
	}
	return append(checks, memory, checkLimits(info), checkQuota(ctx, engine), checkDisk("disk", info.ImageDir, 20<<30)), engine
}

// checkLimits says what of a container the engine can limit.
func checkLimits(info docker.Info) check {
	switch {
	case len(info.Unlimited) > 0:
		return check{
			"limits", warning, "the engine cannot limit " + strings.Join(info.Unlimited, ", ") + ": containers run without",
			"the controllers of cgroup v2 must be delegated to a rootless engine's user:\n" +
				"Delegate=cpu cpuset io memory pids in systemd's user@.service",
		}
	case info.Podman:
		return check{"limits", good, "Podman does not say what it can limit; a run says what it refuses", ""}
	default:
		return check{"limits", good, "CPUs, memory, swap and processes of containers can be limited", ""}
	}
}

// checkQuota says how --disk is kept.
func checkQuota(ctx context.Context, engine *docker.Engine) check {
	able, known, err := engine.LimitsDisk(ctx)
	switch {
	case err != nil:
		return check{"quota", warning, err.Error(), fault.HintOf(err)}
	case !known:
		return check{"quota", good, "whether the storage driver has a quota for --disk is known once there is an image", ""}
	case able:
		return check{"quota", good, "--disk is a quota of the storage driver", ""}
	default:
		return check{"quota", good, "the storage driver has no quota: --disk is a watch that looks every few seconds", ""}
	}
}

func (a *app) checkStrays(ctx context.Context, engine *docker.Engine) check {
	owned, err := engine.Owned(ctx)
	strays := slices.DeleteFunc(owned, func(s containers.Stray) bool { return !s.Abandoned })
	switch {
	case err != nil:
		return check{"strays", warning, err.Error(), fault.HintOf(err)}
	case len(strays) > 0:
		return check{"strays", warning, fmt.Sprintf("%d containers of runs that are gone", len(strays)), "`batch clean` removes them, and so does the next `batch run`"}
	default:
		return check{"strays", good, "no containers of runs that are gone", ""}
	}
}

// checkDisk looks at the file system of the engine's data, when it is local.
func checkDisk(name, dir string, want uint64) check {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return check{name, warning, fmt.Sprintf("free space of %s is unknown: %v", dir, err), ""}
	}
	free := st.Bavail * uint64(st.Bsize)
	c := check{name, good, fmt.Sprintf("%s free in %s", units.BytesSize(float64(free)), dir), ""}
	if free < want {
		c.state = warning
		c.hint = "SWE-bench images take 1-3 GB each; make room, or choose fewer with --slice"
	}
	return c
}

func checkOutput(dir string) check {
	probe, err := os.CreateTemp(dir, ".batch-doctor-*")
	if err != nil {
		return check{"output", warning, "this folder is not writable: " + err.Error(), "give a writable one with -o"}
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return checkDisk("output", dir, 1<<30)
}

// checkKey says of which providers models could be asked.
func (a *app) checkKey() check {
	var ready, missing, exports []string
	for _, p := range catalogue.Providers() {
		if !p.Paid {
			continue
		}
		if text, ok := p.Ready(a.getenv); ok {
			ready = append(ready, text)
		} else {
			missing, exports = append(missing, text), append(exports, "export "+p.Key+"=...")
		}
	}
	if len(ready) > 0 {
		return check{"key", good, strings.Join(ready, "; "), ""}
	}
	return check{
		"key", warning, strings.Join(missing, "; "),
		strings.Join(exports, " or ") + " for a real model; " + catalogue.Free() + " models need none",
	}
}

func (a *app) checkHub(ctx context.Context) check {
	c := hub.FromEnv(a.getenv, a.home)
	if c.Offline {
		return check{"hub", good, "offline: datasets come from " + c.CacheDir, ""}
	}
	if c.Endpoint == "" {
		c.Endpoint = hub.DefaultEndpoint
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, c.Endpoint, nil)
	if err != nil {
		return check{"hub", warning, err.Error(), "HF_ENDPOINT is not a URL"}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		text := c.Endpoint + " is not reachable"
		if errors.Is(err, context.DeadlineExceeded) {
			text = c.Endpoint + " does not answer within 5 s"
		}
		return check{"hub", warning, text, "use a local file, the cache with HF_HUB_OFFLINE=1, or a mirror with HF_ENDPOINT"}
	}
	_ = resp.Body.Close()
	return check{"hub", good, c.Endpoint + " is reachable", ""}
}
