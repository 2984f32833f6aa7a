package kube

import (
	"encoding/json"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"batch.example/batch/internal/kubetest"
	"batch.example/batch/sandbox/engine"
)

// post creates an object and returns the answer.
func post(t *testing.T, api *cluster, path string, obj any) (answer []byte) {
	t.Helper()
	body, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	answer, err = api.core.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(t.Context()).Raw()
	if err != nil {
		t.Fatalf("%s: %v: %s", path, err, answer)
	}
	return answer
}

// asUser returns the engine of a user who has the Role that the package's comment shows.
func asUser(t *testing.T, level string) *fleet {
	t.Helper()
	admin := open(t, "default")
	space := namespace(t, admin.cluster, level)
	const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/"
	accounts := "/api/v1/namespaces/" + space + "/serviceaccounts"
	post(t, admin.cluster, accounts, kubetest.Shown(t, "ServiceAccount", space))
	post(t, admin.cluster, rbac+space+"/roles", kubetest.Shown(t, "Role", space))
	bound := kubetest.Shown(t, "RoleBinding", space)
	bound["subjects"].([]any)[0].(map[string]any)["namespace"] = space
	post(t, admin.cluster, rbac+space+"/rolebindings", bound)
	var token struct{ Status struct{ Token string } }
	said := post(t, admin.cluster, accounts+"/batch/token", map[string]any{"spec": map[string]any{"expirationSeconds": 3600}})
	if err := json.Unmarshal(said, &token); err != nil {
		t.Fatal(err)
	}
	config, _, err := Config{Files: []string{kubetest.Config(t)}}.load()
	if err != nil {
		t.Fatal(err)
	}
	config = rest.AnonymousClientConfig(config)
	config.BearerToken = token.Status.Token
	o := engine.Options{Pod: []byte(`{"imagePullPolicy": "Never"}`), Patience: 20 * time.Second}
	api, err := newCluster(config, space, o)
	if err != nil {
		t.Fatal(err)
	}
	var f *fleet
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(200 * time.Millisecond) { // the API server learns of a Role a moment later
		if f, err = newFleet(t.Context(), api, o); err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func TestTheRoleInTheDocumentationIsEnough(t *testing.T) {
	image := testImage(t)
	t.Parallel()
	f := asUser(t, "privileged")
	for _, found := range f.Check(t.Context()) {
		if found.Err != nil {
			t.Errorf("%s: %v", found.Name, found.Err)
		}
	}
	c := start(t, f, engine.Spec{Image: image})
	says(t, c, "echo $((6*7))", "42\n")
	if err := c.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if removed, err := f.Tidy(t.Context()); err != nil || !removed {
		t.Errorf("tidying: %v, %v", removed, err)
	}
}

func TestTheJobInTheDocumentationIsOne(t *testing.T) {
	admin := open(t, "default")
	t.Parallel()
	space := namespace(t, admin.cluster, "privileged")
	post(t, admin.cluster, "/api/v1/namespaces/"+space+"/persistentvolumeclaims", kubetest.Shown(t, "PersistentVolumeClaim", space))
	post(t, admin.cluster, "/apis/batch/v1/namespaces/"+space+"/jobs", kubetest.Shown(t, "Job", space))
}
