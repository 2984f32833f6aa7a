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
//	kubernetes:CONTEXT/NAMESPACE
//	                       pods of a cluster, as kubectl would find it; see
//	                       batch help kubernetes
//	kubernetes             its current context and namespace, or the cluster
//	                       in which batch runs
//
// Over ssh, each connection is an ssh process and a login on the other machine. Its sshd refuses
// logins beyond MaxStartups at the same time, 10 by default: raise it there, or let the user's ssh
// configuration share one connection (ControlMaster).
//
// # Several engines in one run
//
// --engine can be given several times, and environment.engines is a list. Its items are addresses,
// or mappings that also say how much of an engine a run may use:
//
//	environment:
//	  engines:
//	    - unix:///var/run/docker.sock
//	    - {address: "ssh://ubuntu@big", workers: 24}
//	    - {address: "context:lab", memory: 64g, cpus: 16}
//
// With --engine, the list of the configuration has no effect. Runs, sweeps, grading, chats and
// servers use all engines of the list; images, clean and doctor work on each of them that --engine
// names. An engine that does not answer when a run starts is reported, tried again every 10 seconds,
// and used once it answers; the width of -w auto stays without it.
//
// An attempt runs where its container still is, after a crash. Otherwise it goes to an engine that
// answers and has a free place: if possible to one with room that has the image or is pulling it,
// otherwise to the one with most room. Predictions are graded by the same rule, so where the image
// is. An image that no engine has is pulled ahead on one of them; if further engines need it, each
// pulls it.
//
// # Widths
//
// -w is the total. With -w auto it is the sum of what fits on the engines: workers, or 4 instances
// for each core and one for each 2 GiB of memory (or --memory, if less), of the cpus and the memory
// that the list gives for the engine, or that it has. If the list has a value for an
// engine, at most that many attempts, and as many tests, run on it, whatever -w is. For other engines
// the number only sets the shares. Batch cannot see that engines are on one machine: each counts its
// cores and memory, so give each its share in the list.
//
// # An engine that is lost
//
// While an engine does not answer, nothing new goes to it, and its instances wait for it, for at most
// --engine-wait. After that they are resumed on another engine: their recorded commands run again in
// a new container, and no reply is paid for again. The run stops only when no engine is left. The
// container on the lost engine remains there: it ends by itself after twice
// environment.container_timeout plus an hour, and the next run on that engine or
// batch clean --engine ADDRESS removes it. An engine that answers again is used again. A run may be
// resumed with other engines; then its attempts are resumed in new containers.
//
// # What each engine keeps for itself
//
// Images, with the limits of --disk-budget, --disk-reserve, --pulls and --prefetch, which hold for
// each engine; the outcomes of scrubs; the helper's volume and the shared network; the limit on
// containers that are created or removed at the same time; whether it answers. Two addresses of one
// engine are refused. The same image must have the same id on all engines, as an image from a registry
// has: after a replay in another image, an attempt starts from the beginning. Images that were built
// on one machine are copied with docker save and docker load.
//
// The journal, results.parquet (column engine), batch status, the events of --json and the display on
// a wide terminal say which engine an attempt ran on, if engines were named; grades.jsonl,
// results.parquet (column grade_engine) and batch status say where it was graded.
//
// Its API is not promised to other programs: see package batch.
package engines

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"batch.example/batch/docker"
	"batch.example/batch/docker/images"
	"batch.example/batch/fault"
	"batch.example/batch/kube"
	"batch.example/batch/sandbox/engine"
)

// clusters is the scheme of Kubernetes clusters.
const clusters = "kubernetes"

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

	clusters: {"kubernetes:CONTEXT/NAMESPACE", inCluster},
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

// HasPods reports whether the engine at an address runs pods.
func HasPods(address string) bool {
	scheme, _, _ := strings.Cut(address, ":")
	return scheme == clusters
}

// inCluster is the cluster that kubectl would use, or one of another context or namespace.
func inCluster(address string, getenv func(string) string, home string) (engine.Connect, error) {
	_, target, _ := strings.Cut(address, ":")
	return kube.FromEnv(target, getenv, home).Open, nil
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
