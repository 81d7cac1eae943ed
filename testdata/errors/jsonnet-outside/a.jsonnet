import '../../../../go.mod'
