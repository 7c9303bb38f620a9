# Real zone trouble, off by default. A scenario has the driver start an experiment
# (scenarios/, run --external); nothing here starts one.
#
# A cut-off zone is cut off from the other zones' hosts only, by a prefix list: the
# driver still reaches it, as the oracle must never be behind a fault.
locals {
  fis_zones = toset(var.fis_enabled ? local.zones : [])
  fis_kinds = {
    partition = { does = "hosts cannot reach those of other zones", action = "aws:network:disrupt-connectivity", targets = "Subnets", type = "aws:ec2:subnet" }
    stop      = { does = "instances stop and start again", action = "aws:ec2:stop-instances", targets = "Instances", type = "aws:ec2:instance" }
  }
}

# Everything of the lab that is not in the zone, but for the driver and endpoints.
resource "aws_ec2_managed_prefix_list" "others" {
  for_each = local.fis_zones

  name           = "${var.name}-not-${each.key}"
  address_family = "IPv4"
  max_entries    = length(local.zones)

  dynamic "entry" {
    for_each = { for zone in local.zones : zone => aws_subnet.lab[zone].cidr_block if zone != each.key }

    content {
      cidr        = entry.value
      description = "hosts of zone ${entry.key}"
    }
  }
}

resource "aws_fis_experiment_template" "zone" {
  for_each = { for pair in setproduct(local.fis_zones, keys(local.fis_kinds)) : join(" ", pair) => merge(local.fis_kinds[pair[1]], { zone = pair[0], kind = pair[1] }) }

  description = "${var.name}, zone ${each.value.zone}: ${each.value.does}"
  role_arn    = aws_iam_role.lab["fis"].arn

  stop_condition {
    source = "none" # it ends by itself, and fis-stop ends it earlier
  }

  action {
    name      = each.value.kind
    action_id = each.value.action

    dynamic "parameter" {
      for_each = each.value.kind == "stop" ? { startInstancesAfterDuration = "PT1M" } : {
        duration             = "PT1M"
        scope                = "prefix-list"
        prefixListIdentifier = aws_ec2_managed_prefix_list.others[each.value.zone].id
      }

      content {
        key   = parameter.key
        value = parameter.value
      }
    }

    target {
      key   = each.value.targets
      value = "zone"
    }
  }

  target {
    name           = "zone"
    resource_type  = each.value.type
    selection_mode = "ALL"

    dynamic "resource_tag" {
      for_each = { Lab = var.name, Zone = each.value.zone }

      content {
        key   = resource_tag.key
        value = resource_tag.value
      }
    }

    dynamic "filter" {
      for_each = each.value.kind == "stop" ? ["running"] : []

      content {
        path   = "State.Name"
        values = [filter.value]
      }
    }
  }

  depends_on = [aws_iam_role_policy.fis, aws_iam_role_policy_attachment.fis]
}

resource "aws_iam_role_policy" "fis" {
  count = var.fis_enabled ? 1 : 0

  name = "instances"
  role = aws_iam_role.lab["fis"].id

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      { Effect = "Allow", Action = ["ec2:StopInstances", "ec2:StartInstances"], Resource = "arn:aws:ec2:${local.place}:instance/*", Condition = { StringEquals = { "aws:ResourceTag/Lab" = var.name } } },
      # Encrypted volumes are attached again by a grant; a customer's key, which may be
      # the account's default for volumes, gives none without this.
      { Effect = "Allow", Action = ["kms:CreateGrant"], Resource = "arn:aws:kms:${var.region}:*:key/*", Condition = { Bool = { "kms:GrantIsForAWSResource" = "true" }, StringEquals = { "kms:ViaService" = "ec2.${var.region}.amazonaws.com" } } },
      { Effect = "Allow", Action = ["ec2:DescribeInstances", "tag:GetResources"], Resource = "*" },
    ]
  })
}

# What AWS itself says that cutting a subnet off takes.
resource "aws_iam_role_policy_attachment" "fis" {
  count = var.fis_enabled ? 1 : 0

  role       = aws_iam_role.lab["fis"].name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AWSFaultInjectionSimulatorNetworkAccess"
}
