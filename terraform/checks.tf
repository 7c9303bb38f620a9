# What AWS would refuse halfway through an apply is refused by the plan.
locals {
  # Who runs where, on what: the driver is in the first zone.
  placed = concat(
    [{ zone = local.zones[0], type = var.driver_instance_type, market = "on-demand" }],
    [for host in local.host_list : { zone = host.zone, type = local.hosts[host.name].type, market = var.spot ? "spot" : "on-demand" }],
  )
  types = toset(local.placed[*].type)

  not_offered = distinct([for place in local.placed : "${place.type} in ${local.zone_names[place.zone]}"
  if !contains(data.aws_ec2_instance_type_offerings.zone[place.zone].instance_types, place.type)])
  not_architecture = [for type in local.types : type if !contains(data.aws_ec2_instance_type.used[type].supported_architectures, var.architecture)]

  # The quotas that count vCPUs of the types A, C, D, H, I, M, R, T and Z.
  quotas = { for market, code in { on-demand = "L-1216C47A", spot = "L-34B43A08" } : market => code if var.check_quota && contains(local.placed[*].market, market) }
  vcpus = { for market in ["on-demand", "spot"] : market => sum(concat([0], [for place in local.placed : data.aws_ec2_instance_type.used[place.type].default_vcpus
  if place.market == market && can(regex("^(a|c|d|h|i|im|is|m|r|t|z)[0-9]", place.type))])) }
  over_quota = [for market, quota in data.aws_servicequotas_service_quota.vcpus : "${local.vcpus[market]} vCPUs ${market}, of ${quota.value}" if local.vcpus[market] > quota.value]
}

data "aws_ec2_instance_type" "used" {
  for_each = local.types

  instance_type = each.key
}

data "aws_ec2_instance_type_offerings" "zone" {
  for_each = local.zone_names

  location_type = "availability-zone"

  filter {
    name   = "location"
    values = [each.value]
  }

  filter {
    name   = "instance-type"
    values = local.types
  }
}

data "aws_servicequotas_service_quota" "vcpus" {
  for_each = local.quotas

  service_code = "ec2"
  quota_code   = each.value
}

resource "terraform_data" "checked" {
  lifecycle {
    precondition {
      condition     = length(local.not_architecture) == 0
      error_message = "Not ${var.architecture}: ${join(", ", local.not_architecture)}. Set instance_type, instance_types and driver_instance_type to types that are, or call make with ARCH=arm64 or ARCH=x86_64."
    }

    precondition {
      condition     = length(local.not_offered) == 0
      error_message = "Not offered: ${join(", ", local.not_offered)}. Set instance_type, instance_types or driver_instance_type to a type that these zones have, or another topology or region."
    }

    precondition {
      condition     = length(local.over_quota) == 0
      error_message = "More than the account's quota: ${join("; ", local.over_quota)}. Ask for more (Service Quotas, EC2, Standard instances), set host_counts to fewer hosts, or smaller types. check_quota = false does not look."
    }
  }
}
