package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"batch.example/batch/fault"
	"batch.example/batch/sandbox/engine"
)

// Config says which cluster and which namespace to use. The zero value is the cluster
// that this process runs in.
type Config struct {
	Files  []string // kubeconfig files, merged as kubectl does; files that do not exist are ignored
	Target string   // CONTEXT/NAMESPACE, CONTEXT or /NAMESPACE; empty: the files' current ones
}

// FromEnv returns the cluster that kubectl would use: the files in KUBECONFIG, or ~/.kube/config in
// the user's home.
func FromEnv(target string, getenv func(string) string, home string) Config {
	c := Config{Target: target, Files: filepath.SplitList(getenv("KUBECONFIG"))}
	if len(c.Files) == 0 && home != "" {
		c.Files = []string{filepath.Join(home, ".kube", "config")}
	}
	return c
}

// requestLimit is how long the API may take for an answer.
const requestLimit = 30 * time.Second

// load returns how to reach the cluster, and the namespace.
func (c Config) load() (*rest.Config, string, error) {
	const op = "reading the configuration of the cluster"
	rules := &clientcmd.ClientConfigLoadingRules{Precedence: c.Files, WarnIfAllMissing: false}
	files, err := rules.Load()
	if err != nil {
		return nil, "", fault.New(fault.Usage, op, err).WithHint("check the files in KUBECONFIG, or ~/.kube/config")
	}
	overrides := &clientcmd.ConfigOverrides{CurrentContext: c.Target}
	if _, whole := files.Contexts[c.Target]; !whole { // a context's name may have slashes
		name, namespace := c.Target, ""
		if at := strings.LastIndexByte(c.Target, '/'); at >= 0 {
			name, namespace = c.Target[:at], c.Target[at+1:]
		}
		overrides.CurrentContext, overrides.Context.Namespace = name, namespace
		if name != "" && files.Contexts[name] == nil {
			return nil, "", fault.Newf(fault.Usage, "%s: %s has no context %q", op, strings.Join(c.Files, ", "), name).
				WithHint("`kubectl config get-contexts` lists the contexts; write kubernetes:CONTEXT/NAMESPACE")
		}
	}
	chosen := clientcmd.NewNonInteractiveClientConfig(*files, overrides.CurrentContext, overrides, rules)
	var config *rest.Config
	inside := len(files.Contexts) == 0 && len(files.Clusters) == 0
	if inside {
		config, err = rest.InClusterConfig()
		if errors.Is(err, rest.ErrNotInCluster) {
			err = fmt.Errorf("no cluster in %s, and this process does not run in a cluster", strings.Join(c.Files, ", "))
		}
	} else {
		config, err = chosen.ClientConfig()
	}
	if err != nil {
		return nil, "", fault.New(fault.Usage, op, err).WithHint("set KUBECONFIG to a kubeconfig file whose current context is the cluster")
	}
	if inside { // where files without a context are an error of chosen
		return config, cmp.Or(overrides.Context.Namespace, inClusterNamespace("default")), nil
	}
	namespace, _, err := chosen.Namespace()
	if err != nil {
		return nil, "", fault.New(fault.Usage, op, err)
	}
	return config, namespace, nil
}

// Open connects to the cluster, as the engine of sandboxes.
func (c Config) Open(ctx context.Context, o engine.Options) (engine.Engine, error) {
	config, namespace, err := c.load()
	if err != nil {
		return nil, err
	}
	api, err := newCluster(config, namespace, o)
	if err != nil {
		return nil, err
	}
	f, err := newFleet(ctx, api, o)
	if err != nil {
		return nil, err
	}
	return f, nil
}
