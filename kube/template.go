package kube

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"

	corev1 "k8s.io/api/core/v1"

	"batch.example/batch/fault"
)

// template has the settings of environment.pod, which are merged over batch's own pod. Labels and
// annotations that batch sets itself stay.
type template struct {
	Labels             map[string]string             `json:"labels"`
	Annotations        map[string]string             `json:"annotations"`
	NodeSelector       map[string]string             `json:"nodeSelector"`
	Tolerations        []corev1.Toleration           `json:"tolerations"`
	Affinity           *corev1.Affinity              `json:"affinity"`
	RuntimeClassName   *string                       `json:"runtimeClassName"`
	PriorityClassName  string                        `json:"priorityClassName"`
	SchedulerName      string                        `json:"schedulerName"`
	ServiceAccountName string                        `json:"serviceAccountName"`
	ImagePullSecrets   []corev1.LocalObjectReference `json:"imagePullSecrets"`
	ImagePullPolicy    corev1.PullPolicy             `json:"imagePullPolicy"`
	Resources          *corev1.ResourceRequirements  `json:"resources"`

	HelperImage string `json:"helperImage"` // batch's own setting: an image volume with its helper
}

// parseTemplate reads the JSON of environment.pod. A field that is not supported, or has the wrong
// type, is a Usage fault.
func parseTemplate(text []byte) (*template, error) {
	var t template
	if len(text) == 0 {
		return &t, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&t); err != nil {
		return nil, fault.New(fault.Usage, "reading environment.pod", err).
			WithHint("it may have labels, annotations, nodeSelector, tolerations, affinity, runtimeClassName, priorityClassName,\n" +
				"schedulerName, serviceAccountName, imagePullSecrets, imagePullPolicy and resources, as in a pod, and helperImage")
	}
	return &t, nil
}

// arch returns the architecture of the nodes that the template selects; otherwise, if it selects none.
func (t *template) arch(otherwise string) string {
	return cmp.Or(t.NodeSelector["kubernetes.io/arch"], otherwise)
}

// apply merges the template over a pod.
func (t *template) apply(p *corev1.Pod) {
	p.Labels = over(t.Labels, p.Labels)
	p.Annotations = over(t.Annotations, p.Annotations)
	s := &p.Spec
	s.NodeSelector = over(s.NodeSelector, t.NodeSelector)
	s.Tolerations, s.Affinity, s.RuntimeClassName = t.Tolerations, t.Affinity, t.RuntimeClassName
	s.PriorityClassName, s.SchedulerName, s.ServiceAccountName = t.PriorityClassName, t.SchedulerName, t.ServiceAccountName
	s.ImagePullSecrets = t.ImagePullSecrets
	task := &s.Containers[0]
	if t.ImagePullPolicy != "" {
		task.ImagePullPolicy, s.InitContainers[0].ImagePullPolicy = t.ImagePullPolicy, t.ImagePullPolicy
		for _, v := range s.Volumes {
			if v.Image != nil {
				v.Image.PullPolicy = t.ImagePullPolicy
			}
		}
	}
	if r := t.Resources; r != nil {
		for name, most := range r.Limits {
			if ours := task.Resources.Requests[name]; ours.Cmp(most) > 0 {
				delete(task.Resources.Requests, name)
			}
		}
		task.Resources.Limits = over(task.Resources.Limits, r.Limits)
		task.Resources.Requests = over(task.Resources.Requests, r.Requests)
		task.Resources.Claims = r.Claims
	}
}

// over returns the entries of both maps; the ones of upper win.
func over[M ~map[K]V, K comparable, V any](lower, upper M) M {
	if len(upper) == 0 {
		return lower
	}
	all := maps.Clone(lower)
	if all == nil {
		all = M{}
	}
	maps.Copy(all, upper)
	return all
}
