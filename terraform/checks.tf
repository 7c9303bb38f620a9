# The plan refuses what AWS would refuse halfway through an apply, and says what the
# lab takes of the quota and costs.
locals {
  types            = toset(values(local.instances)[*].type)
  not_offered      = distinct([for i in local.instances : "${i.type} in ${local.zone_names[i.zone]}" if !contains(data.aws_ec2_instance_type_offerings.zone[i.zone].instance_types, i.type)])
  not_architecture = [for type in local.types : type if !contains(data.aws_ec2_instance_type.used[type].supported_architectures, var.architecture)]

  # The quotas that count vCPUs of the types A, C, D, H, I, M, R, T and Z.
  quotas = { for market, code in { on-demand = "L-1216C47A", spot = "L-34B43A08" } : market => code if var.check_quota && contains(values(local.instances)[*].market, market) }
  vcpus = { for market in ["on-demand", "spot"] : market => sum(concat([0], [for i in local.instances : data.aws_ec2_instance_type.used[i.type].default_vcpus
  if i.market == market && can(regex("^(a|c|d|h|i|im|is|m|r|t|z)[0-9]", i.type))])) }
  over_quota = [for market, quota in data.aws_servicequotas_service_quota.vcpus : "${local.vcpus[market]} vCPUs ${market}, of ${quota.value}" if local.vcpus[market] > quota.value]

  # USD per hour in Seoul, on demand, as README.md estimates them.
  usd      = { "c7g.medium" = 0.041, "c7g.large" = 0.082, "c7g.xlarge" = 0.163, "t4g.small" = 0.021, "t4g.medium" = 0.042 }
  unpriced = [for type in local.types : type if !contains(keys(local.usd), type)]
  usd_hour = sum([for i in local.instances : lookup(local.usd, i.type, 0) + 0.0013]) + 0.013 * length(local.services)
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
      error_message = "Not ${var.architecture}: ${join(", ", local.not_architecture)}. Set instance_type and driver_instance_type to types that are, or call make with ARCH=arm64 or ARCH=x86_64."
    }

    precondition {
      condition     = length(local.not_offered) == 0
      error_message = "Not offered: ${join(", ", local.not_offered)}. Set instance_type or driver_instance_type to a type that these zones have, or another topology or region."
    }

    precondition {
      condition     = length(local.over_quota) == 0
      error_message = "More than the account's quota: ${join("; ", local.over_quota)}. Set size = \"small\", which takes 5 at most, or fewer hosts by host_counts; or ask for more (Service Quotas, EC2, Standard instances). check_quota = false does not look."
    }

    # A step of the hard stop hands the next one at most 50 values.
    precondition {
      condition     = length(local.instances) <= 50
      error_message = "${length(local.instances)} instances with the driver: the hard stop ends at most 50. Set host_counts to fewer hosts."
    }
  }
}
