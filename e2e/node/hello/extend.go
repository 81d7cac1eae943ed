package main

import (
	"encoding/json"
	"net/http"
)

// extend refuses what the API server asks to admit, and answers everything else as the
// discovery of an API without resources.
func extend(w http.ResponseWriter, r *http.Request) {
	var answer any = map[string]any{"kind": "APIResourceList", "apiVersion": "v1",
		"groupVersion": "hello.example.com/v1", "resources": []any{}}
	if r.URL.Path == "/review" {
		var review struct{ Request struct{ UID string } }
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer = map[string]any{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "response": map[string]any{
			"uid": review.Request.UID, "allowed": false, "status": map[string]any{"message": "hello refuses"},
		}}
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(answer) // the client has gone if that fails
}
