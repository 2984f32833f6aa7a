package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"batch.example/batch/fault"
	"batch.example/batch/internal/retry"
	"batch.example/batch/sandbox/engine"
)

// cluster is the API of a cluster, for one namespace. It knows whether the API answers.
type cluster struct {
	config     *rest.Config
	namespace  string
	core       rest.Interface
	networking rest.Interface
	params     runtime.ParameterCodec
	patience   time.Duration
	before     func(call string) error
	log        *slog.Logger

	away atomic.Bool // the last call was lost
	turn sync.Mutex  // of the one that waits for the API
}

const (
	defaultPatience = 5 * time.Minute
	maxQueries      = 200 // per second, of this process
	maxBurst        = 400
	pingPause       = time.Second
)

// silence keeps client-go from writing to the terminal: it logs errors that it also returns.
var silence = sync.OnceFunc(func() { klog.SetLogger(logr.Discard()) })

func newCluster(config *rest.Config, namespace string, o engine.Options) (*cluster, error) {
	silence()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, networkingv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fault.New(fault.Bug, "registering the cluster's types", err)
		}
	}
	c := &cluster{
		namespace: namespace, params: runtime.NewParameterCodec(scheme), patience: o.Patience, before: o.Before, log: o.Log,
	}
	if c.patience == 0 {
		c.patience = defaultPatience
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	c.config = rest.CopyConfig(config)
	c.config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c.config.UserAgent = "batch"
	c.config.QPS, c.config.Burst = maxQueries, maxBurst
	c.config.WarningHandler = rest.NoWarnings{}
	client, err := rest.HTTPClientFor(c.config)
	if err == nil {
		c.core, err = c.group("/api", corev1.SchemeGroupVersion, client)
	}
	if err == nil {
		c.networking, err = c.group("/apis", networkingv1.SchemeGroupVersion, client)
	}
	if err != nil {
		return nil, fault.New(fault.Usage, "reading the configuration of the cluster", err)
	}
	return c, nil
}

func (c *cluster) group(path string, v schema.GroupVersion, client *http.Client) (rest.Interface, error) {
	config := rest.CopyConfig(c.config)
	config.APIPath, config.GroupVersion = path, &v
	return rest.RESTClientForConfigAndClient(config, client)
}

// object is a kind of objects in the namespace.
type object struct {
	api      rest.Interface
	resource string
}

func (c *cluster) pods() object       { return object{c.core, "pods"} }
func (c *cluster) configMaps() object { return object{c.core, "configmaps"} }
func (c *cluster) policies() object   { return object{c.networking, "networkpolicies"} }

// do carries out a request and notes whether the API answered.
func (c *cluster) do(ctx context.Context, call string, r *rest.Request, into runtime.Object) error {
	if c.before != nil {
		if err := c.before(call); err != nil {
			return c.note(err)
		}
	}
	limited, cancel := context.WithTimeoutCause(ctx, requestLimit, errNoAnswer)
	defer cancel()
	result := r.Do(limited)
	err := result.Error()
	if err == nil && into != nil {
		err = result.Into(into)
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return hungUp{context.Cause(ctx)}
	case err != nil && limited.Err() != nil:
		err = errNoAnswer
	}
	return c.note(err)
}

// query sends a request about no object, and reads the answer. Without a question, it only reads.
func (c *cluster) query(ctx context.Context, path string, question, answer any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, requestLimit, errNoAnswer)
	defer cancel()
	r := c.core.Get()
	if question != nil {
		text, err := json.Marshal(question)
		if err != nil {
			return err
		}
		r = c.core.Post().SetHeader("Content-Type", "application/json").Body(text)
	}
	text, err := r.AbsPath(path).Do(ctx).Raw()
	if err == nil {
		err = json.Unmarshal(text, answer)
	}
	return c.note(err)
}

// hungUp is the cause why the caller of a request did not wait for the answer. It says nothing about the
// API.
type hungUp struct{ error }

// Unwrap returns the cause.
func (h hungUp) Unwrap() error { return h.error }

func (c *cluster) create(ctx context.Context, o object, obj, into runtime.Object, dryRun bool) error {
	var opts metav1.CreateOptions
	if dryRun {
		opts.DryRun = []string{metav1.DryRunAll}
	}
	return c.do(ctx, "create", o.api.Post().Namespace(c.namespace).Resource(o.resource).VersionedParams(&opts, c.params).Body(obj), into)
}

func (c *cluster) get(ctx context.Context, o object, name string, into runtime.Object) error {
	return c.do(ctx, "inspect", o.api.Get().Namespace(c.namespace).Resource(o.resource).Name(name), into)
}

func (c *cluster) list(ctx context.Context, o object, selector string, into runtime.Object) error {
	return c.do(ctx, "list", o.api.Get().Namespace(c.namespace).Resource(o.resource).VersionedParams(&metav1.ListOptions{LabelSelector: selector}, c.params), into)
}

func (c *cluster) patch(ctx context.Context, o object, name string, data []byte) error {
	return c.do(ctx, "patch", o.api.Patch(types.MergePatchType).Namespace(c.namespace).Resource(o.resource).Name(name).Body(data), nil)
}

// remove removes an object at once. It is not an error if the object is gone.
func (c *cluster) remove(ctx context.Context, o object, name string) error {
	now, background := int64(0), metav1.DeletePropagationBackground
	opts := &metav1.DeleteOptions{GracePeriodSeconds: &now, PropagationPolicy: &background}
	err := c.do(ctx, "remove", o.api.Delete().Namespace(c.namespace).Resource(o.resource).Name(name).Body(opts), nil)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

var errNoAnswer = errors.New("the API server did not answer in time")

// note records whether the API answered, and returns err.
func (c *cluster) note(err error) error {
	if isLost(err) {
		if !c.away.Swap(true) {
			c.log.Warn("the cluster's API does not answer", "err", err)
		}
	} else if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		c.away.Store(false)
	}
	return err
}

// isLost reports whether err says that the API did not answer, in contrast to an answer that
// refuses something.
func isLost(err error) bool {
	if _, own := errors.AsType[hungUp](err); err == nil || own || errors.Is(err, context.Canceled) {
		return false
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		switch s := status.Status(); {
		case s.Code == http.StatusServiceUnavailable, s.Code == http.StatusBadGateway, s.Code == http.StatusGatewayTimeout, s.Code == http.StatusTooManyRequests:
			return true
		case s.Code == http.StatusInternalServerError:
			return strings.Contains(s.Message, "etcd") || strings.Contains(s.Message, "shutting down")
		case s.Code == http.StatusForbidden: // while the API server starts, it does not know its roles yet
			return strings.Contains(s.Message, "not yet") || strings.Contains(s.Message, "RBAC: clusterrole")
		}
		return false
	}
	return true
}

// Ready implements [engine.Engine]: it waits until the API answers again, if it was lost.
func (c *cluster) Ready(ctx context.Context) error {
	if !c.away.Load() {
		return nil
	}
	end := time.Now().Add(c.patience) // before its turn: what waits behind others has waited too
	c.turn.Lock()
	defer c.turn.Unlock()
	for c.away.Load() {
		err := c.ping(ctx)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err == nil:
			return nil
		case time.Now().After(end):
			return fault.New(fault.Host, "waiting for the cluster's API at "+c.config.Host, err).
				WithHint("`kubectl get pods` shows whether it answers; --engine-wait says how long batch waits")
		}
		if retry.Sleep(ctx, pingPause) != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// ping asks the API for its pods.
func (c *cluster) ping(ctx context.Context) error {
	var list corev1.PodList
	opts := &metav1.ListOptions{LabelSelector: managed, Limit: 1}
	return c.do(ctx, "ping", c.core.Get().Namespace(c.namespace).Resource("pods").VersionedParams(opts, c.params), &list)
}

// blame turns an error of the API into a fault.
func (c *cluster) blame(err error, op string) error {
	if err == nil {
		return nil
	}
	if own, ok := errors.AsType[hungUp](err); ok {
		return own.error
	}
	if _, already := errors.AsType[*fault.Error](err); already || errors.Is(err, context.Canceled) {
		return err
	}
	if isLost(err) {
		return fault.New(fault.Transient, op, errors.Join(engine.ErrOutage, err))
	}
	full, never := byQuota(err)
	switch text := err.Error(); {
	case never:
		return fault.New(fault.Usage, op, err).WithHint("the namespace's quota never has room for that: lower --memory and --cpus, or ask for a larger quota")
	case full:
		return fault.New(fault.Transient, op, fmt.Errorf("%w: %w", errFull, err)).WithHint("lower -w, or ask for a larger quota")
	case apierrors.IsUnauthorized(err):
		return fault.New(fault.Host, op, err).WithHint("the cluster does not accept your credentials: log in again, as for kubectl")
	case apierrors.IsNotFound(err) && strings.Contains(text, "namespaces \""), apierrors.IsForbidden(err) && strings.Contains(text, "is being terminated"):
		return fault.New(fault.Usage, op, err).WithHint("create the namespace, or name another one: --engine kubernetes:CONTEXT/NAMESPACE")
	case apierrors.IsForbidden(err) && strings.Contains(text, "failed quota"):
		return fault.New(fault.Usage, op, err).WithHint("the namespace's quota asks for limits of all containers: give --memory and --cpus, and make a LimitRange")
	case apierrors.IsForbidden(err) && strings.Contains(text, "User \"") && strings.Contains(text, "\" cannot "):
		return fault.New(fault.Host, op, err).WithHint("batch help kubernetes lists the permissions that batch needs")
	case apierrors.IsForbidden(err), strings.Contains(text, "admission webhook"), strings.Contains(text, "ValidatingAdmissionPolicy"):
		return fault.New(fault.Usage, op, err).WithHint("the cluster's rules refuse it: change environment.pod, --memory or --cpus, or use another namespace")
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return fault.New(fault.Usage, op, err).WithHint("the cluster refused a setting of the pod: check environment.pod, --memory and --cpus")
	}
	return fault.New(fault.Transient, op, err)
}

// namespaceFile has the namespace of the pod that this process runs in.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

func inClusterNamespace(otherwise string) string {
	if b, err := os.ReadFile(namespaceFile); err == nil && len(b) > 0 {
		return strings.TrimSpace(string(b))
	}
	return otherwise
}
