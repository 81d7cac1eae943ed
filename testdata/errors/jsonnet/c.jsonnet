[{ apiVersion: "v1" }, 7]
