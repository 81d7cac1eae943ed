{
  kind: 3,
  kind: 4,
}
