package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ladder-cmp/ladder/object"
)

// Secrets reads the content of the named Secrets, each once. Missing ones are left
// out. Errors do not contain secret values.
func (c Cluster) Secrets(ctx context.Context, named []object.ID) (map[object.ID]map[string][]byte, error) {
	config, err := c.Config()
	if err != nil {
		return nil, err
	}
	all, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, c.Fault(err)
	}
	found := map[object.ID]map[string][]byte{}
	for _, id := range named {
		item, err := all.Resource(schema.GroupVersionResource{Version: "v1",
			Resource: "secrets"}).Namespace(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			return nil, fmt.Errorf("this user is not allowed to read %s; select a user with this permission with --context", id)
		case err != nil:
			return nil, c.Fault(err)
		}
		if found[id], err = dataOf(item); err != nil {
			return nil, fmt.Errorf("%s: %w", id, err)
		}
	}
	return found, nil
}

func dataOf(secret *unstructured.Unstructured) (map[string][]byte, error) {
	texts, _, err := unstructured.NestedStringMap(secret.Object, "data")
	if err != nil {
		return nil, errors.New("its data are not texts")
	}
	data := map[string][]byte{}
	for key, text := range texts {
		if data[key], err = base64.StdEncoding.DecodeString(text); err != nil {
			return nil, fmt.Errorf("its %s is not in base64", key)
		}
	}
	return data, nil
}
